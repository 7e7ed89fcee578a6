// `dsh-ref prepare`: the message and the snapshot of the sessions it refers to, in the format asked for.

import { invalidConfig } from '../errors.ts'
import { strictJson, utf8Bytes } from '../json-bytes.ts'
import { type Prepared, prepare as prepareMessage } from '../pipeline.ts'
import type { TextBlock } from '../types.ts'
import { WriteGuard } from '../write-guard.ts'
import { absolutePath, fraction, integer, oneOf, optionsOf, text } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { pathsNamed, readingOptions, referenceOf, targetOf } from './sessions.ts'
import { spillFor } from './spill.ts'

/** Values of `--format`. */
const FORMATS = ['text', 'snapshot', 'json', 'jsonl', 'chat'] as const

/** Prints the prepared message; nothing at all when any source fails. */
export const prepare: CommandBody = async (context, args, options) => {
  const {
    format = 'text',
    output,
    target: targetArgument,
    spillDir,
    ...budget
  } = optionsOf(options, {
    format: oneOf(FORMATS),
    output: text(),
    target: text(),
    spillDir: text(),
    maxReferenceBytes: integer({ min: 1 }),
    contextWindow: integer({ min: 1 }),
    referenceContextFraction: fraction(),
    maxReferences: integer({ min: 1, max: 3 }),
  })
  const reading = readingOptions(context, options)
  const isDryRun = options.dryRun === true
  const refs = (options.ref as readonly string[] | undefined) ?? []
  // Before anything is read, as far as it is known by then what will be; the rest when it is found.
  const guard = new WriteGuard(reading.roots, pathsNamed(refs, targetArgument, context))
  const stdinFile = refs.includes('-') ? context.stdin.file?.() : undefined
  if (stdinFile) guard.protectOpen(stdinFile, 'standard input')
  const outputFile = output === undefined ? undefined : allowedOutput(absolutePath(output, context), guard)
  const wantedSpill = await spillFor(spillDir, context, guard)
  const spill = isDryRun ? undefined : wantedSpill
  const message = await messageOf(args, refs, context)
  const { target, issues: targetIssues } = await targetOf(targetArgument, context, reading)
  const references = await Promise.all(refs.map((ref) => referenceOf(ref, context, reading)))
  const prepared = await prepareMessage({
    ...reading,
    ...budget,
    message: message.text,
    target: target?.sessionId,
    references,
    spill,
    onLocated: ({ path }) => guard.protect(path),
  })
  const issues = [...targetIssues, ...prepared.issues]
  context.print.refuseIfStrict(issues)
  if (isDryRun || options.explain === true) {
    const plan = await planned(prepared, format)
    if (isDryRun) await context.print.out(plan)
    else await context.print.aside(plan)
  }
  if (isDryRun) return context.print.issues(issues)
  const product = rendered(prepared, format, message.hasFinalNewline)
  if (outputFile === undefined) await context.print.out(await shown(product, context))
  else {
    const { writeFileAtomic } = await import('../atomic-file.ts')
    await writeFileAtomic(outputFile, product, { signal: context.signal })
  }
  await context.print.issues(issues)
}

/** The file that `--output` leads to, if it may be written. */
function allowedOutput(path: string, guard: WriteGuard): string {
  return guard.allow({ path, what: 'output file', advice: 'name one elsewhere with --output' })
}

/** What is kept and what it costs, as a table or with `--format json` as JSON. */
async function planned(prepared: Prepared, format: (typeof FORMATS)[number]): Promise<string> {
  const { planOf, renderPlan } = await import('../render/plan.ts')
  const plan = planOf(prepared.sources, utf8Bytes(textIn(prepared.content)), utf8Bytes(snapshotIn(prepared) ?? ''))
  return format === 'json' ? `${strictJson(plan)}\n` : renderPlan(plan)
}

/** A pipe gets the product as it is; a terminal gets nothing that would drive it, and JSON means the same either way. */
async function shown(product: string, context: CommandContext): Promise<string> {
  if (!context.stdout.isTerminal) return product
  const { visibleLines } = await import('../render/transcript.ts')
  return visibleLines(product)
}

interface Message {
  readonly text: string
  /** Whether the printed message ends its last line, as the given one did. */
  readonly hasFinalNewline: boolean
}

async function messageOf(args: readonly string[], refs: readonly string[], context: CommandContext): Promise<Message> {
  const isLogOnStdin = refs.includes('-')
  const [argument] = args
  if (argument !== undefined && argument !== '-') return { text: argument, hasFinalNewline: true }
  if (isLogOnStdin) {
    if (argument === undefined) return { text: '', hasFinalNewline: true }
    throw invalidConfig('Standard input cannot be both the message and a --ref; give the message as an argument')
  }
  if (!context.stdin.isTerminal) return readMessage(context)
  if (argument === '-') {
    await context.print.note('Type the message and end it with Ctrl-D on a line of its own')
    return readMessage(context)
  }
  if (refs.length > 0) return { text: '', hasFinalNewline: true }
  throw invalidConfig(
    'There is no message. Give it as an argument, pipe it in, type it with "-", or name sessions with --ref alone; see "dsh-ref prepare --help"',
  )
}

async function readMessage(context: CommandContext): Promise<Message> {
  const pieces: Uint8Array[] = []
  for await (const piece of context.stdin.chunks()) pieces.push(piece)
  let whole: string
  try {
    whole = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.concat(pieces))
  } catch (cause) {
    throw invalidConfig('The message on standard input is not valid UTF-8', { cause: String(cause) })
  }
  // The newline a pipe ends with belongs to the pipe; it comes back behind the printed message.
  return whole.endsWith('\n')
    ? { text: whole.slice(0, -1), hasFinalNewline: true }
    : { text: whole, hasFinalNewline: false }
}

function rendered(prepared: Prepared, format: (typeof FORMATS)[number], hasFinalNewline: boolean): string {
  const message = textIn(prepared.content)
  const snapshot = snapshotIn(prepared)
  // Model APIs refuse a message without text; a snapshot asked for alone stands alone.
  const own = message === '' && snapshot !== undefined ? [] : [message]
  switch (format) {
    case 'text':
      if (snapshot === undefined) return message === '' ? '' : `${message}${hasFinalNewline ? '\n' : ''}`
      return message === '' ? `${snapshot}\n` : `${message}\n\n${snapshot}\n`
    case 'snapshot':
      return snapshot === undefined ? '' : `${snapshot}\n`
    case 'json':
      return `${strictJson({ content: prepared.content, additionalContext: prepared.additionalContext, ...degradedOf(prepared) })}\n`
    case 'jsonl':
      return [...own.map(() => ({ role: 'user', content: prepared.content })), ...prepared.additionalContext]
        .map((line) => `${strictJson(line)}\n`)
        .join('')
    case 'chat': {
      const texts = snapshot === undefined ? own : [...own, snapshot]
      return `${strictJson(texts.map((content) => ({ role: 'user', content })))}\n`
    }
  }
}

function textIn(blocks: readonly TextBlock[]): string {
  return blocks.map((block) => block.text).join('')
}

function snapshotIn({ additionalContext: [context] }: Prepared): string | undefined {
  return context && textIn(context.content)
}

/** Sources of which only a prefix could be read; absent when there is none, as in the service's own shape. */
function degradedOf({ sources }: Prepared): { degraded?: readonly unknown[] } {
  const degraded = sources.flatMap(({ data, degraded }) =>
    degraded ? [{ sessionId: data.sessionId, ...degraded }] : [],
  )
  return degraded.length === 0 ? {} : { degraded }
}
