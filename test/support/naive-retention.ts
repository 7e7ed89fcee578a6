// Retention a second time, straight from the words of DESIGN.md section 3 and with no thought for cost: what retain.ts is
// compared with. Everything is measured by serialising it, and the largest n is found by trying every n.
import { Buffer } from 'node:buffer'
import type { RetainSource } from '../../src/retain/retain.ts'
import type { RetentionFacts, SnapshotData } from '../../src/types.ts'

/** What retention gives, or `undefined` for a refusal with the bytes that would have been needed. */
export type NaiveResult =
  | { readonly data: SnapshotData; readonly facts: RetentionFacts; readonly bytes: number }
  | { readonly refused: true; readonly neededBytes: number }

/**
 * Where the reference service does otherwise on purpose of this project (`deviations` in the conformance README): it keeps
 * lone surrogates and measures them, and a cut loses a byte order mark at the start of the head or of the tail, counting
 * it as present.
 */
export interface ServiceHabits {
  readonly keepsLoneSurrogates: boolean
  readonly losesByteOrderMarks: boolean
}

const THE_RULE: ServiceHabits = { keepsLoneSurrogates: false, losesByteOrderMarks: false }

/** Fits a source into a budget by the rule, or by the rule with the habits of the service. */
export function retainNaively(source: RetainSource, budgetBytes: number, habits = THE_RULE): NaiveResult {
  const clean = (text: string) => (habits.keepsLoneSurrogates ? text : text.toWellFormed())
  let items = source.messages.map(({ role, text, checkpoint }) => ({
    role,
    checkpoint,
    original: clean(text),
    text: clean(text),
    omittedBytes: 0,
  }))
  const newest = items.at(-1)
  let omittedMessages = 0
  let omittedBytes = 0

  const data = (): SnapshotData => ({
    sessionId: clean(source.sessionId),
    label: clean(source.label),
    cwd: source.cwd === null ? null : clean(source.cwd),
    capturedThroughSeq: source.capturedThroughSeq,
    conversation: items.map(({ role, text }) => ({ role, text })),
  })
  const size = () => Buffer.byteLength(JSON.stringify(data()).replaceAll('<', '\\u003c'))

  while (size() > budgetBytes) {
    const oldest = items.find((item) => !item.checkpoint && item !== newest)
    if (oldest === undefined) break
    items = items.filter((item) => item !== oldest)
    omittedMessages += 1
    omittedBytes += Buffer.byteLength(oldest.original)
  }
  while (size() > budgetBytes) {
    const most = Math.max(0, ...items.map((item) => Buffer.byteLength(item.text)))
    const largest = items.find((item) => Buffer.byteLength(item.text) === most)
    if (largest === undefined || most === 0) return { refused: true, neededBytes: size() }
    const overflow = size() - budgetBytes
    const cut = cutNaively(largest.original, Math.max(0, most - overflow), habits.losesByteOrderMarks)
    largest.text = cut.text
    largest.omittedBytes = cut.omittedBytes
  }

  for (const item of items) omittedBytes += item.omittedBytes
  return {
    data: data(),
    facts: {
      compacted: source.messages.some((message) => message.checkpoint),
      originalMessages: source.messages.length,
      retainedMessages: items.length,
      omittedMessages,
      omittedBytes,
      truncated: omittedMessages > 0 || omittedBytes > 0,
    },
    bytes: size(),
  }
}

/** The head/tail slice of the largest n whose result fits the target; empty when no n fits. */
export function cutNaively(
  original: string,
  targetBytes: number,
  losesByteOrderMarks = false,
): { text: string; omittedBytes: number } {
  const total = Buffer.byteLength(original)
  const decode = (text: string) => (losesByteOrderMarks && text.startsWith('\ufeff') ? text.slice(1) : text)
  for (let n = total; n >= 0; n--) {
    const head = headOf(original, Math.ceil(n / 2))
    const tail = tailOf(original, Math.floor(n / 2))
    const omittedBytes = total - Buffer.byteLength(head) - Buffer.byteLength(tail)
    const text = `${decode(head)}${decode(tail)}\n[… omitted ${omittedBytes} UTF-8 bytes …]`
    if (Buffer.byteLength(text) <= targetBytes) return { text, omittedBytes }
  }
  return { text: '', omittedBytes: total }
}

/** The whole code points at the start that take at most so many bytes. */
function headOf(text: string, bytes: number): string {
  let head = ''
  let left = bytes
  for (const point of text.toWellFormed()) {
    left -= Buffer.byteLength(point)
    if (left < 0) break
    head += point
  }
  return head
}

/** The whole code points at the end that take at most so many bytes. */
function tailOf(text: string, bytes: number): string {
  let tail = ''
  let left = bytes
  for (const point of Array.from(text.toWellFormed()).reverse()) {
    left -= Buffer.byteLength(point)
    if (left < 0) break
    tail = point + tail
  }
  return tail
}
