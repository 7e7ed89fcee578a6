// `dsh-ref prepare`: the message and the snapshot of the sessions it refers to, in the format asked for.

import { DshRefError, invalidConfig } from '../errors.ts'
import { WriteGuard } from '../files/write-guard.ts'
import { MIN_PREFIX_LENGTH, parseSessionArgument } from '../locate/argument.ts'
import { prepare as prepareMessage } from '../pipeline.ts'
import { checkReferenceIds, idOf } from '../prepare/references.ts'
import type { Prepared, ReferenceInput } from '../prepare/request.ts'
import { parseReferenceText } from '../reference/uri.ts'
import type { Redacted } from '../secrets/kinds.ts'
import { strictJson, utf8Bytes } from '../text/json-bytes.ts'
import type { TextBlock } from '../types.ts'
import { absolutePath, fraction, integer, oneOf, optionsOf, text } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { pathsNamed, type ReadingOptions, readingOptions, referenceOf, targetOf } from './sessions.ts'
import { hearSignals } from './signals.ts'
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
  const named = namedIn(message.text, refs, context)
  const { maxReferences } = budget
  // Twice, for the target's own id may take locating too.
  const namedTarget = idNamed(targetArgument, context)
  checkReferenceIds(certainIds(named, namedTarget), { target: namedTarget, maxReferences })
  const { target, issues: targetIssues } = await targetOf(targetArgument, context, reading)
  const limits = { target: target?.sessionId, maxReferences }
  checkReferenceIds(certainIds(named, limits.target), limits)
  const references = await locateReferences(refs, named, limits, context, reading)
  const prepared = await prepareMessage({
    ...reading,
    ...budget,
    message: message.text,
    target: target?.sessionId,
    references,
    spill,
    ...(context.secrets && { redact: context.secrets.rules.redacts, failOnSecrets: context.secrets.rules.refuses }),
    onLocated: ({ path }) => guard.protect(path),
  })
  const issues = [...targetIssues, ...prepared.issues]
  const redacted = context.secrets?.redacted(prepared.redacted)
  context.print.refuseIfStrict(issues)
  if (isDryRun || options.explain === true) {
    const plan = await planned(prepared, format, redacted)
    if (isDryRun) await context.print.out(plan)
    else await context.print.aside(plan)
  }
  if (isDryRun) {
    await context.print.issues(issues)
    return context.secrets?.tell(context.print, prepared.redacted)
  }
  const product = rendered(prepared, format, message.hasFinalNewline, redacted)
  if (outputFile === undefined) await context.print.out(await shown(product, context))
  else {
    const { writeFileAtomic } = await import('../files/atomic-file.ts')
    const bytes = Buffer.from(product)
    await hearSignals(() => writeFileAtomic(outputFile, bytes, { signal: context.signal }))
  }
  await context.print.issues(issues)
  await context.secrets?.tell(context.print, prepared.redacted)
}

/** A session as it was named; where only a log tells the id, there is none. */
interface NamedSession {
  readonly id: string | undefined
  /** Whether the id may turn out to be the beginning of another. */
  readonly allowsPrefix: boolean
}

/** What the message and then `--ref` name, before anything is located. */
function namedIn(message: string, refs: readonly string[], { cwd }: CommandContext): NamedSession[] {
  const mentioned = parseReferenceText(message).references.map(({ sessionId: id }) => ({ id, allowsPrefix: false }))
  const given = refs.map((ref) => {
    const parsed = parseSessionArgument(ref, cwd)
    return parsed.kind === 'id'
      ? { id: parsed.sessionId, allowsPrefix: parsed.allowPrefix && parsed.sessionId.length >= MIN_PREFIX_LENGTH }
      : { id: undefined, allowsPrefix: false }
  })
  return [...mentioned, ...given]
}

/**
 * The ids that name a session of their own whatever is on disk. A text that begins another id named here may be short for
 * that one, so that it counts only once it is located, unless it spells the target's id.
 */
function certainIds(named: readonly NamedSession[], target: string | undefined): string[] {
  return named.flatMap(({ id, allowsPrefix }) => {
    if (id === undefined) return []
    const mayBeShort = allowsPrefix && named.some((other) => other.id !== id && other.id?.startsWith(id))
    return mayBeShort && id !== target ? [] : [id]
  })
}

function idNamed(argument: string | undefined, { cwd }: CommandContext): string | undefined {
  if (argument === undefined) return undefined
  const parsed = parseSessionArgument(argument, cwd)
  return parsed.kind === 'id' ? parsed.sessionId : undefined
}

/** Finds what every `--ref` names. A name that leads to no session counts as the id it spells before it is refused as such. */
async function locateReferences(
  refs: readonly string[],
  named: readonly NamedSession[],
  limits: Parameters<typeof checkReferenceIds>[1],
  context: CommandContext,
  reading: ReadingOptions,
): Promise<ReferenceInput[]> {
  const outcomes = await Promise.allSettled(refs.map((ref) => referenceOf(ref, context, reading)))
  const failed = outcomes.find((outcome) => outcome.status === 'rejected')
  if (!failed) return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const mentioned = named.slice(0, -refs.length)
  const ids = outcomes.map((outcome, index) => {
    if (outcome.status === 'fulfilled') return idOf(outcome.value)
    const isMissing = outcome.reason instanceof DshRefError && outcome.reason.reason === 'not-found'
    return isMissing ? named[mentioned.length + index]?.id : undefined
  })
  checkReferenceIds(
    [...mentioned.map(({ id }) => id), ...ids].filter((id) => id !== undefined),
    limits,
  )
  throw failed.reason
}

/** The file that `--output` leads to, if it may be written. */
function allowedOutput(path: string, guard: WriteGuard): string {
  return guard.allow({ path, what: 'output file', advice: 'name one elsewhere with --output' })
}

/** What is kept and what it costs, as a table or with `--format json` as JSON. */
async function planned(
  prepared: Prepared,
  format: (typeof FORMATS)[number],
  redacted: Redacted | undefined,
): Promise<string> {
  const { planOf, renderPlan } = await import('../render/plan.ts')
  const plan = planOf(
    prepared.sources,
    utf8Bytes(textIn(prepared.content)),
    utf8Bytes(snapshotIn(prepared) ?? ''),
    redacted,
  )
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

function rendered(
  prepared: Prepared,
  format: (typeof FORMATS)[number],
  hasFinalNewline: boolean,
  redacted: Redacted | undefined,
): string {
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
      return `${strictJson({ content: prepared.content, additionalContext: prepared.additionalContext, ...degradedOf(prepared), ...(redacted && { redacted }) })}\n`
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
