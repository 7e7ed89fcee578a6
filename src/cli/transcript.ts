// `dsh-ref transcript`, `transcript decode` and `transcript grep`: everything a session said, read back and searched.

import { readFileSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { encodingOf } from '../decode/encoding.ts'
import { invalidConfig, readFailed, unreadable } from '../errors.ts'
import { readSurfaceOrPrefix } from '../fold/salvage.ts'
import type { Surface } from '../fold/surface.ts'
import { LOG_NAME, parseSessionArgument } from '../locate/argument.ts'
import { type Capture, capture, captureFacts } from '../prepare/capture.ts'
import { project, textlessSentence } from '../project/project.ts'
import {
  renderMatches,
  renderTranscript,
  renderTranscriptMarkdown,
  renderTranscriptText,
  visibleLines,
} from '../render/transcript.ts'
import { retain } from '../retain/retain.ts'
import type { Redacted } from '../secrets/kinds.ts'
import { expressionOf, PatternSearch } from '../transcript/pattern-search.ts'
import { decodeTranscript, type ShadowedMessage, type Transcript } from '../transcript/transcript.ts'
import type { ConversationMessage, Issue } from '../types.ts'
import { integer, oneOf, optionsOf } from './options.ts'
import type { CommandBody, CommandContext } from './print.ts'
import { type ReadingOptions, readingOptions, redactedSurface, surfaceOf } from './sessions.ts'
import { hearSignals } from './signals.ts'

/** Values of `--format` of `transcript`. */
const FORMATS = ['spill', 'markdown', 'text', 'json'] as const

/** `transcript`: the full captured projection of one session, without any budget. */
export const transcript: CommandBody = async (context, [argument = '-'], options) => {
  const { format = 'spill' } = optionsOf(options, { format: oneOf(FORMATS) })
  const reading = readingOptions(context, options)
  const includesShadowed = options.includeShadowed === true
  const read = await surfaceOf(argument, context, includesShadowed ? { ...reading, ...KEEPING_SHADOWED } : reading)
  const surface = await redactedSurface(read, context)
  const parsed = parseSessionArgument(argument, context.cwd)
  const source = await capture({ surface, label: 'label' in parsed ? parsed.label : undefined }, reading)
  context.print.refuseIfStrict(source.issues)
  context.secrets?.refuseIfFound()
  const shadowed = includesShadowed ? shadowedOf(surface) : undefined
  await printText(context, rendered(source, format, shadowed, context.secrets?.redacted()))
  const textless = textlessSentence(source.turnsWithoutText ?? 0)
  if (textless !== undefined) await context.print.note(textless)
  await context.print.issues(source.issues)
  await context.secrets?.tell(context.print)
}

/** What projection drops anyway need not be kept. */
const KEEPING_SHADOWED = {
  keepsShadowed: ({ type }: { readonly type: string }) => type === 'user/message' || type === 'assistant/message',
}

function shadowedOf({ shadowed }: Surface): ShadowedMessage[] {
  const shadowedBySeq = new Map(shadowed.map((entry) => [entry.message.seq, entry.shadowedBySeq]))
  const { messages } = project(shadowed.map(({ message }) => message))
  return messages.map(({ seq, role, text }) => ({
    seq,
    shadowedBySeq: shadowedBySeq.get(seq) as number,
    role,
    text: text.toWellFormed(),
  }))
}

function rendered(
  source: Capture,
  format: (typeof FORMATS)[number],
  shadowed: readonly ShadowedMessage[] | undefined,
  redacted: Redacted | undefined,
): string {
  switch (format) {
    case 'spill':
      return renderTranscript(captureFacts(source), source.messages, shadowed)
    case 'markdown':
      return renderTranscriptMarkdown(captureFacts(source), source.messages, shadowed)
    case 'text':
      return renderTranscriptText(source.messages, shadowed)
    case 'json': {
      // Retention without a limit leaves nothing out: the same data and facts as in a message, for the whole.
      const { data, facts } = retain(source, Number.MAX_SAFE_INTEGER)
      const { capturedFormatVersion } = captureFacts(source)
      const { issues, degraded, turnsWithoutText } = source
      return jsonLine({
        data,
        facts: { capturedFormatVersion, ...facts },
        turnsWithoutText,
        shadowed,
        issues,
        degraded,
        redacted,
      })
    }
  }
}

/** `transcript decode`: the exact texts of an artifact. */
export const decode: CommandBody = async (context, [argument = '-'], options) => {
  const { format = 'json', message } = optionsOf(options, {
    format: oneOf(['json', 'text']),
    message: integer({ min: 1 }),
  })
  const artifact = redactedArtifact(
    decodeTranscript(textOf(await bytesOf(argument, context), argument), nameOf(argument)),
    context,
  )
  context.secrets?.refuseIfFound()
  if (message === undefined) {
    const redacted = context.secrets?.redacted()
    await printText(
      context,
      format === 'json'
        ? jsonLine({ ...artifact, redacted })
        : renderTranscriptText(artifact.messages, artifact.shadowed ?? []),
    )
    return context.secrets?.tell(context.print)
  }
  const wanted = messageAt(artifact, message)
  // The text alone is printed as it is: no line feed that is not its own.
  await printText(context, format === 'json' ? `${JSON.stringify(wanted)}\n` : wanted.text)
  await context.secrets?.tell(context.print)
}

/** An artifact with its texts, label and directory masked, where the run masks. */
function redactedArtifact(artifact: Transcript, { secrets }: CommandContext): Transcript {
  if (!secrets) return artifact
  const { capture, messages, shadowed } = artifact
  const { scan } = secrets
  const masked = <Message extends ConversationMessage>(message: Message) => ({
    ...message,
    text: scan.text(message.text),
  })
  return {
    capture: {
      ...capture,
      label: scan.text(capture.label),
      cwd: capture.cwd === null ? null : scan.text(capture.cwd),
    },
    messages: messages.map(masked),
    ...(shadowed && { shadowed: shadowed.map(masked) }),
  }
}

function messageAt({ messages }: Transcript, number: number): ConversationMessage {
  const message = messages[number - 1]
  if (message) return message
  throw invalidConfig(`Option --message is ${number}; the transcript has messages 1 to ${messages.length}`, {
    option: '--message',
    value: number,
    messages: messages.length,
  })
}

/** `transcript grep`: searches whole texts, of artifacts and of sessions; status 1 when nothing is found. */
export const grep: CommandBody = async (context, [pattern = '', ...given], options) => {
  const { context: around = 0 } = optionsOf(options, { context: integer({ min: 0 }) })
  using search = new PatternSearch(
    expressionOf(pattern, { isFixed: options.fixedStrings === true, ignoresCase: options.ignoreCase === true }),
    { signal: context.signal },
  )
  const reading = readingOptions(context, options)
  const sources = given.length === 0 ? ['-'] : given
  if (sources.filter((source) => source === '-').length > 1) {
    throw invalidConfig('"-" is given twice; standard input can be read once')
  }
  const blocks: string[] = []
  const issues: Issue[] = []
  let total = 0
  for (const argument of sources) {
    const found = await conversationOf(argument, context, reading)
    issues.push(...found.issues)
    const source = sources.length > 1 ? argument : undefined
    const find = () => search.search(found.messages)
    const matches = await (search.isThreaded ? hearSignals(find) : find())
    const { text, matchedLines } = renderMatches(found.messages, matches, { context: around, source })
    total += matchedLines
    if (options.count === true) blocks.push(`${source === undefined ? '' : `${source}:`}${matchedLines}\n`)
    else if (text !== '') blocks.push(text)
  }
  context.print.refuseIfStrict(issues)
  context.secrets?.refuseIfFound()
  await printText(context, blocks.join(around > 0 && options.count !== true ? '--\n' : ''))
  await context.print.issues(issues)
  await context.secrets?.tell(context.print)
  if (total === 0) context.print.answer(NO_MATCH)
}

/** What grep says when it has found nothing. */
const NO_MATCH = 1

async function conversationOf(
  argument: string,
  context: CommandContext,
  reading: ReadingOptions,
): Promise<{ messages: readonly ConversationMessage[]; issues: readonly Issue[] }> {
  if (argument === '-' || isOtherFile(argument, context.cwd)) {
    const bytes = await bytesOf(argument, context)
    // An artifact begins with a heading.
    const encoding = encodingOf(bytes)
    if (encoding === undefined) {
      const artifact = redactedArtifact(decodeTranscript(textOf(bytes, argument), nameOf(argument)), context)
      return { messages: artifact.messages, issues: [] }
    }
    const log = { kind: 'bytes', name: nameOf(argument), bytes: inOnePiece(bytes), encoding } as const
    return conversationIn(await redactedSurface(await readSurfaceOrPrefix(log, reading), context))
  }
  return conversationIn(await redactedSurface(await surfaceOf(argument, context, reading), context))
}

async function* inOnePiece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

function conversationIn({ messages, issues }: Surface) {
  const conversation = project(messages).messages.map(({ role, text }) => ({ role, text: text.toWellFormed() }))
  return { messages: conversation, issues }
}

/** A file that is no log by its name: an artifact, or a pipe of the shell. */
function isOtherFile(argument: string, cwd: string): boolean {
  if (LOG_NAME.test(argument)) return false
  try {
    return !statSync(pathOf(argument, cwd)).isDirectory()
  } catch {
    return false // no such file: a session, or an error that naming a session explains better
  }
}

function pathOf(argument: string, cwd: string): string {
  return resolve(cwd, argument.startsWith('path:') ? argument.slice('path:'.length) : argument)
}

async function bytesOf(argument: string, context: CommandContext): Promise<Uint8Array> {
  if (argument !== '-') {
    const path = pathOf(argument, context.cwd)
    try {
      return readFileSync(path)
    } catch (cause) {
      throw unreadable(path, cause)
    }
  }
  if (context.stdin.isTerminal) {
    throw invalidConfig('There is no transcript on standard input, which is a terminal; name a file, or pipe one in')
  }
  const pieces: Uint8Array[] = []
  for await (const piece of context.stdin.chunks()) pieces.push(piece)
  return Buffer.concat(pieces)
}

function textOf(bytes: Uint8Array, argument: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw readFailed('corrupt', `${nameOf(argument)} is not valid UTF-8`, { file: nameOf(argument) }, { cause })
  }
}

function nameOf(argument: string): string {
  return argument === '-' ? '<stdin>' : argument
}

function jsonLine(value: object): string {
  return `${JSON.stringify({ schemaVersion: 1, ...value })}\n`
}

/** Prints as it is into a pipe or a file; a terminal gets nothing that would drive it. */
async function printText(context: CommandContext, text: string): Promise<void> {
  await context.print.out(context.stdout.isTerminal ? visibleLines(text) : text)
}
