// `dsh-ref surface`: the fold itself, as data.

import { oneOf, optionsOf } from './options.ts'
import type { CommandBody } from './print.ts'
import { readingOptions, surfaceOf } from './sessions.ts'

/** Prints what the model sees of one session. */
export const surface: CommandBody = async (context, [argument = '-'], options) => {
  optionsOf(options, { format: oneOf(['json']) })
  const result = await surfaceOf(argument, context, readingOptions(context, options))
  context.print.refuseIfStrict(result.issues)
  const { header, formatVersion, capturedThroughSeq, nodes, replacements, issues } = result
  await context.print.out(
    `${JSON.stringify({ header, formatVersion, capturedThroughSeq, nodes, replacements, issues })}\n`,
  )
  await context.print.issues(issues)
}
