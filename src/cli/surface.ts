// `dsh-ref surface`: the fold itself, as a table or as data.

import { invalidConfig } from '../errors.ts'
import type { SalvagedSurface } from '../fold/salvage.ts'
import { project } from '../project/project.ts'
import { renderSurface, type SurfaceItem } from '../render/surface.ts'
import type { Redacted } from '../secrets/kinds.ts'
import { utf8Bytes } from '../text/json-bytes.ts'
import { integer, oneOf, optionsOf } from './options.ts'
import type { CommandBody } from './print.ts'
import { readingOptions, redactedSurface, surfaceOf } from './sessions.ts'

/** Prints what the model sees of one session, now or at an earlier event. */
export const surface: CommandBody = async (context, [argument = '-'], options) => {
  const { format = 'table', at } = optionsOf(options, { format: oneOf(['table', 'json']), at: integer({ min: 0 }) })
  const reading = { ...readingOptions(context, options), texts: 'all' } as const
  const read = await surfaceOf(argument, context, at === undefined ? reading : { ...reading, throughSeq: at })
  const result = await redactedSurface(read, context)
  const last = result.capturedThroughSeq
  if (at !== undefined && (last === null || at > last)) {
    const reach = last === null ? 'has no events' : `ends at seq ${last}`
    throw invalidConfig(`--at is ${at}, but the log ${reach}`, { option: '--at', value: at, capturedThroughSeq: last })
  }
  context.print.refuseIfStrict(result.issues)
  context.secrets?.refuseIfFound()
  const seen = at === undefined ? result : { ...result, capturedThroughSeq: at }
  const items = itemsOf(seen)
  if (format === 'table') await context.print.out(renderSurface(seen, items, context.stdout.columns))
  else await context.print.json(dataOf(seen, items, context.secrets?.redacted()))
  await context.print.issues(result.issues)
  await context.secrets?.tell(context.print)
}

function itemsOf({ messages }: SalvagedSurface): SurfaceItem[] {
  const projected = new Set(project(messages).messages.map(({ seq }) => seq))
  return messages.map(({ seq, type, role, sourceKind, checkpoint, text }) => ({
    seq,
    type,
    role,
    sourceKind,
    projected: projected.has(seq),
    checkpoint,
    textBytes: utf8Bytes(text),
  }))
}

function dataOf(surface: SalvagedSurface, items: readonly SurfaceItem[], redacted: Redacted | undefined) {
  const { header, formatVersion, capturedThroughSeq, nodes, replacements, issues, degraded } = surface
  return {
    schemaVersion: 1,
    header,
    formatVersion,
    capturedThroughSeq,
    nodes,
    replacements,
    items,
    issues,
    ...(degraded && { degraded }),
    ...(redacted && { redacted }),
  }
}
