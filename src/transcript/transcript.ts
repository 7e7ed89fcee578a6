// Transcripts as text: reads a spill artifact back into its exact messages, and searches messages. Writing artifacts is
// render/transcript.ts, keeping them is spill.ts.

import { type DshRefError, readFailed } from '../errors.ts'
import { type ComposedText, composedPattern, composedText } from '../text/folded-text.ts'
import type { ConversationMessage, SnapshotData } from '../types.ts'

/** What a transcript says about its origin, in the key order of its serialisation. */
export interface TranscriptCapture extends Omit<SnapshotData, 'conversation'> {
  /** Format version of the file that was read; absent for 0. */
  readonly capturedFormatVersion?: number
}

/** A message that is no longer on the surface, and the seq of the event that took its place. */
export interface ShadowedMessage extends ConversationMessage {
  readonly seq: number
  readonly shadowedBySeq: number
}

/** A transcript read back from an artifact. */
export interface Transcript {
  readonly capture: TranscriptCapture
  readonly messages: readonly ConversationMessage[]
  /** Present when the artifact has a section of them, in log order. */
  readonly shadowed?: readonly ShadowedMessage[]
}

/** Where a pattern was found: UTF-16 offsets into the text of a message. */
export interface TranscriptMatch {
  /** 1-based position of the message. */
  readonly message: number
  readonly start: number
  readonly end: number
}

/** The headings of both kinds of message; the number comes first, the role last. */
const HEADINGS = {
  message: /^### Message (?<number>\d+): (?<role>user|assistant)$/,
  'shadowed message':
    /^### Shadowed message (?<number>\d+) \(seq (?<seq>\d+), shadowed by seq (?<by>\d+)\): (?<role>user|assistant)$/,
}

/** The heading above shadowed messages. */
export const SHADOWED_SECTION = '## Shadowed messages'

/** What the artifacts of this tool say of their length; those of the service do not, so it is checked where it stands. */
const COUNTS = /^(?:Messages|Shadowed messages): (\d+); fragments: (\d+)\./

/** An artifact may have been put into a Markdown fence; a fence is never text, which stands in quotes. */
const FENCE = /^(`{3,}|~{3,})[a-z]*$/

/**
 * Gives the exact texts back from an artifact, the service's included: the prose around the headings may be any. Throws
 * `READ_FAILED`/`corrupt` with the line when the artifact is damaged; `name` is how the message calls it.
 *
 * @example
 * const artifact = renderTranscript({ sessionId: 's', label: 's', cwd: null, capturedThroughSeq: 0 }, [{ role: 'user', text: 'hello' }])
 * decodeTranscript(artifact).messages // => [{ role: 'user', text: 'hello' }]
 */
export function decodeTranscript(artifact: string, name = 'The transcript'): Transcript {
  const lines = linesOf(artifact)
  const { capture, next } = captureIn(lines, name)
  const messages = new Section(name, 'message')
  let shadowed: Section | undefined
  for (let index = next; index < lines.length; index++) {
    const line = lines[index] as string
    const section = shadowed ?? messages
    const counts = COUNTS.exec(line)
    if (counts) section.expect(index + 1, Number(counts[1]), Number(counts[2]))
    else if (line === SHADOWED_SECTION) shadowed = new Section(name, 'shadowed message')
    else section.read(line, index + 1)
  }
  const read = messages.end(lines.length)
  const hidden = shadowed?.end(lines.length)
  return {
    capture,
    messages: read.map(({ role, texts }) => ({ role, text: texts.join('') })),
    ...(hidden && {
      shadowed: hidden.map(({ seq, shadowedBySeq, role, texts }) => ({
        seq,
        shadowedBySeq,
        role,
        text: texts.join(''),
      })),
    }),
  }
}

/** Reads only the capture record, of an artifact or of its first part; `undefined` when there is none. */
export function captureOf(artifact: string): TranscriptCapture | undefined {
  try {
    return captureIn(linesOf(artifact), '').capture
  } catch {
    return undefined // what is wrong with an artifact is for decodeTranscript to say
  }
}

/**
 * Finds a pattern in whole texts, so that a match may cross lines, whatever the Unicode normalisation of pattern and text;
 * only a pattern that speaks of combining marks by themselves is taken to the letter. The pattern must have the flag `g`.
 */
export function* searchTranscript(
  messages: Iterable<Pick<ConversationMessage, 'text'>>,
  pattern: RegExp,
): Generator<TranscriptMatch> {
  const { expression, texts } = composedSearch(messages, pattern)
  for (const match of matchesIn(
    texts.map(({ text }) => text),
    expression,
  ))
    yield inStored(match, texts)
}

/** What is searched in the place of a pattern and of texts as they are stored. */
export interface ComposedSearch {
  readonly expression: RegExp
  readonly texts: readonly ComposedText[]
}

/** Brings pattern and texts to one normalisation; `inStored` leads back. */
export function composedSearch(messages: Iterable<Pick<ConversationMessage, 'text'>>, pattern: RegExp): ComposedSearch {
  const composed = composedPattern(pattern)
  return {
    expression: composed ?? pattern,
    texts: Array.from(messages, ({ text }) => (composed ? composedText(text) : { text, originalOffset: asIs })),
  }
}

/** The place of a match in the texts as they are stored. */
export function inStored({ message, start, end }: TranscriptMatch, texts: readonly ComposedText[]): TranscriptMatch {
  const { originalOffset } = texts[message - 1] as ComposedText
  return { message, start: originalOffset(start), end: originalOffset(end) }
}

/** Finds an expression with the flag `g` in texts. Refers to nothing outside: pattern-search.ts takes its source into a thread. */
export function* matchesIn(texts: Iterable<string>, expression: RegExp): Generator<TranscriptMatch> {
  let message = 0
  for (const text of texts) {
    message += 1
    for (const { 0: found, index } of text.matchAll(expression)) {
      yield { message, start: index, end: index + found.length }
    }
  }
}

function asIs(offset: number): number {
  return offset
}

interface Reading {
  readonly role: ConversationMessage['role']
  readonly line: number
  readonly texts: string[]
  readonly seq: number
  readonly shadowedBySeq: number
}

/** The messages of one section while they are read. */
class Section {
  readonly #name: string
  readonly #noun: keyof typeof HEADINGS
  readonly #messages: Reading[] = []
  #fragments = 0
  /** What the artifact itself says the section holds. */
  #expected: { readonly line: number; readonly messages: number; readonly fragments: number } | undefined

  constructor(name: string, noun: keyof typeof HEADINGS) {
    this.#name = name
    this.#noun = noun
  }

  expect(line: number, messages: number, fragments: number): void {
    this.#expected = { line, messages, fragments }
  }

  read(line: string, number: number): void {
    const last = this.#messages.at(-1)
    if (line.startsWith('### ') && (last || HEADINGS[this.#noun].test(line))) this.#begin(line, number)
    else if (last && line.startsWith('"')) {
      last.texts.push(this.#fragment(line, number))
      this.#fragments += 1
    } else if (last && line !== '' && !FENCE.test(line)) {
      throw damaged(this.#name, number, 'a line among the messages is neither a heading nor a fragment')
    } else if (!last && line.startsWith('"') && isString(line)) {
      // Any other line above the first message is prose.
      throw damaged(this.#name, number, `a fragment stands before the first ${this.#noun}`)
    }
  }

  end(lastLine: number): readonly Reading[] {
    this.#checkLast()
    const { messages, fragments, line } = this.#expected ?? {}
    const isWhole = messages === this.#messages.length && fragments === this.#fragments
    if (this.#expected && !isWhole) {
      throw damaged(
        this.#name,
        lastLine,
        `line ${line} announces ${messages} ${this.#noun}s in ${fragments} fragments, but there are ` +
          `${this.#messages.length} in ${this.#fragments}`,
      )
    }
    if (!this.#expected && this.#messages.length === 0) throw damaged(this.#name, lastLine, `there is no ${this.#noun}`)
    return this.#messages
  }

  #begin(heading: string, line: number): void {
    this.#checkLast()
    const due = this.#messages.length + 1
    const { number, role, seq, by } = HEADINGS[this.#noun].exec(heading)?.groups ?? {}
    if (Number(number) !== due) {
      throw damaged(this.#name, line, `the heading of ${this.#noun} ${due}, of a user or an assistant, is due here`)
    }
    this.#messages.push({
      role: role as Reading['role'],
      line,
      texts: [],
      seq: Number(seq),
      shadowedBySeq: Number(by),
    })
  }

  #fragment(line: string, number: number): string {
    try {
      // What begins with a quote and is JSON is a string.
      return JSON.parse(line) as string
    } catch {
      throw damaged(this.#name, number, 'a fragment is not one whole JSON string')
    }
  }

  /** An empty text is no part of a conversation (FORMAT.md section 4.3), and this tool writes one as `""`. */
  #checkLast(): void {
    const last = this.#messages.at(-1)
    if (last?.texts.length === 0) {
      throw damaged(this.#name, last.line, `${this.#noun} ${this.#messages.length} has no fragment`)
    }
  }
}

function isString(line: string): boolean {
  try {
    return typeof JSON.parse(line) === 'string'
  } catch {
    return false // prose may begin with a quotation
  }
}

function captureIn(lines: readonly string[], name: string): { capture: TranscriptCapture; next: number } {
  const start = lines.findIndex((line) => line.trimStart().startsWith('{'))
  if (start === -1) throw damaged(name, 1, 'there is no capture record; this is no transcript of a session')
  const isOneLine = lines[start]?.trimEnd().endsWith('}')
  const end = isOneLine ? start : lines.findIndex((line, index) => index > start && line.trim() === '}')
  let record: unknown
  try {
    record = JSON.parse(lines.slice(start, end + 1).join('\n'))
  } catch {
    throw damaged(name, start + 1, 'the capture record is not JSON')
  }
  const capture = captureFrom(record)
  if (!capture) throw damaged(name, start + 1, 'the capture record lacks a field or has one of a wrong type')
  return { capture, next: end + 1 }
}

function captureFrom(record: unknown): TranscriptCapture | undefined {
  const { sessionId, label, cwd, capturedThroughSeq, capturedFormatVersion } = record as Record<string, unknown>
  if (typeof sessionId !== 'string' || typeof label !== 'string') return undefined
  if (cwd !== null && typeof cwd !== 'string') return undefined
  if (capturedThroughSeq !== null && !isCount(capturedThroughSeq)) return undefined
  if (capturedFormatVersion === undefined) return { sessionId, label, cwd, capturedThroughSeq }
  if (!isCount(capturedFormatVersion)) return undefined
  return { sessionId, label, cwd, capturedThroughSeq, capturedFormatVersion }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

/** In an artifact CR is always escaped, so one at the end of a line was added on the way, like a byte order mark. */
function linesOf(artifact: string): string[] {
  return artifact
    .replace(/^\ufeff/, '')
    .split('\n')
    .map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line))
}

function damaged(name: string, line: number, what: string): DshRefError {
  return readFailed('corrupt', `${name} is damaged at line ${line}: ${what}`, { line })
}
