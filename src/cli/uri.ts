// `dsh-ref uri encode|decode|mention|parse`: converts records, given as arguments or on standard input. All or nothing.
// What a URI and a mention are is uri.ts.
import { DshRefError, invalidConfig, invalidReference } from '../errors.ts'
import { decodeSessionUri, encodeSessionUri, formatMention, parseReferenceText } from '../reference/uri.ts'
import type { CommandBody, CommandContext, CommandOptions } from './print.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const NUL = 0x00

/** UTF-16 units of a record shown in a message. */
const SHOWN_LENGTH = 60

/** A record as it came: bytes of standard input, or an argument, which is plain text even with `--json`. */
type RawRecord = Uint8Array | string

/** Converts a record. `isJson` tells a value read as JSON from plain text. */
type Convert = (record: unknown, isJson: boolean) => string | object

/** `uri encode`: id to URI. */
export const encode: CommandBody = (context, args, options) =>
  convertRecords(context, args, options, 'session ids', (record) => encodeSessionUri(toText(record)))

/** `uri decode`: URI to id. */
export const decode: CommandBody = (context, args, options) =>
  convertRecords(context, args, options, 'session URIs', (record) => decodeSessionUri(toText(record)))

/** `uri mention`: id, as JSON `{sessionId, label?}`, to mention. */
export const mention: CommandBody = (context, args, options) => {
  const label = options.label as string | undefined
  let labelled = 0
  return convertRecords(context, args, options, 'session ids', (record, isJson) => {
    const reference = isJson ? toReference(record) : { sessionId: toText(record) }
    if (label === undefined) return formatMention(reference)
    labelled += 1
    if (labelled === 1) return formatMention({ ...reference, label })
    throw invalidConfig('Option --label names one session; give several as lines {"sessionId", "label"} with --json', {
      option: '--label',
    })
  })
}

/** `uri parse`: text to `{text, references}`, which is JSON with and without `--json`. */
export const parse: CommandBody = (context, args, options) =>
  convertRecords(context, args, options, 'texts', (record) => parseReferenceText(toText(record)))

async function convertRecords(
  context: CommandContext,
  args: readonly string[],
  options: CommandOptions,
  nouns: string,
  convert: Convert,
): Promise<void> {
  const isJson = options.json === true
  const separator = options.null === true ? NUL : LINE_FEED
  const converted: (string | object)[] = []
  for await (const record of recordsOf(context, args, separator, nouns)) {
    try {
      const result = convertRecord(record, isJson, convert)
      if (!isJson && typeof result === 'string') checkPrintable(result, separator)
      converted.push(result)
    } catch (error) {
      throw withRecordNumber(error, converted.length + 1)
    }
  }
  const isText = converted.every((result) => typeof result === 'string')
  if (isJson || (!isText && separator === LINE_FEED)) return context.print.jsonLines(converted)

  const end = String.fromCharCode(separator)
  let texts = converted.map((result) => (typeof result === 'string' ? result : JSON.stringify(result)))
  if (context.stdout.isTerminal) texts = texts.map((await import('../render/visible.ts')).visible)
  await context.print.out(texts.map((text) => text + end).join(''))
}

async function* recordsOf(
  context: CommandContext,
  args: readonly string[],
  separator: number,
  nouns: string,
): AsyncGenerator<RawRecord> {
  if (args.length === 0 && context.stdin.isTerminal) {
    throw invalidConfig(`No ${nouns} given; give them as arguments, or one a line on standard input ("-" to type them)`)
  }
  if (args.length > 1 && args.includes('-')) {
    throw invalidConfig('"-" stands for standard input and must be the only argument; send a record "-" through a pipe')
  }
  if (args.length > 0 && args[0] !== '-') yield* args
  else yield* split(context.stdin.chunks(), separator)
}

/** Cuts bytes into records. What comes after the last separator is a record too, unless it is empty. */
async function* split(chunks: AsyncIterable<Uint8Array>, separator: number): AsyncGenerator<Uint8Array> {
  // Pieces of an unfinished record are joined once, at its end: joining per chunk is quadratic in a long record.
  let pieces: Uint8Array[] = []
  for await (const chunk of chunks) {
    let start = 0
    for (let end = chunk.indexOf(separator); end !== -1; end = chunk.indexOf(separator, start)) {
      yield withoutReturn(Buffer.concat([...pieces, chunk.subarray(start, end)]), separator)
      pieces = []
      start = end + 1
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start))
  }
  if (pieces.length > 0) yield withoutReturn(Buffer.concat(pieces), separator)
}

/** A line ends in LF or CRLF; a record that ends in NUL is exact. */
function withoutReturn(record: Uint8Array, separator: number): Uint8Array {
  return separator === LINE_FEED && record.at(-1) === CARRIAGE_RETURN ? record.subarray(0, -1) : record
}

function convertRecord(record: RawRecord, isJson: boolean, convert: Convert): string | object {
  if (typeof record === 'string') return convert(record, false)
  const text = decodeUtf8(record)
  return isJson ? convert(parseJson(text), true) : convert(text, false)
}

// A byte order mark is a character of the record like any other.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause
    throw invalidReference('Bytes that are not UTF-8; convert the input, or give odd ids as JSON with --json', {
      check: 'utf8',
    })
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    throw invalidReference(`Not JSON: ${shown(text)}; with --json give one JSON value a line`, {
      check: 'json',
      input: text,
    })
  }
}

function toText(record: unknown): string {
  if (typeof record === 'string') return record
  throw invalidReference(`Not a JSON string: ${shown(JSON.stringify(record))}`, { check: 'string', input: record })
}

function toReference(record: unknown): { sessionId: string; label?: string } {
  const { sessionId, label } = (record ?? {}) as { sessionId?: unknown; label?: unknown }
  if (typeof sessionId === 'string' && label === undefined) return { sessionId }
  if (typeof sessionId === 'string' && typeof label === 'string') return { sessionId, label }
  const wanted = '{"sessionId": string, "label"?: string}'
  throw invalidReference(`Not of the form ${wanted}: ${shown(JSON.stringify(record))}`, {
    check: 'reference',
    input: record,
  })
}

/** Refuses text that a reader of the output would not get back: one that spans records, or that UTF-8 cannot hold. */
function checkPrintable(text: string, separator: number): void {
  if (!text.isWellFormed()) {
    throw invalidReference(
      `Result holds half a surrogate pair, which only JSON can spell: ${shown(text)}; add --json`,
      {
        check: 'surrogate',
      },
    )
  }
  if (separator === NUL && text.includes('\0')) {
    throw invalidReference(`Result holds a NUL, which ends a record here: ${shown(text)}; use --json instead of -0`, {
      check: 'nul',
    })
  }
  if (separator === LINE_FEED && (text.includes('\n') || text.endsWith('\r'))) {
    throw invalidReference(`Result holds a line break, so a line cannot hold it: ${shown(text)}; add -0 or --json`, {
      check: 'line-break',
    })
  }
}

function shown(text: string): string {
  return JSON.stringify(text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}…`)
}

function withRecordNumber(error: unknown, record: number): unknown {
  if (!(error instanceof DshRefError)) return error
  return new DshRefError(error.code, `Record ${record}: ${error.message}`, { ...error.facts, record }, { cause: error })
}
