// Retention: fits a projected conversation into a byte budget and counts exactly what it leaves out (DESIGN.md section 3,
// "Retention"). Which budget applies is the pipeline's to say; render/ serialises the result.
import { DshRefError } from '../errors.ts'
import { tagSafeJson, tagSafeStringBytes, utf8Bytes } from '../text/json-bytes.ts'
import type { ConversationMessage, ProjectedMessage, RetentionFacts, SnapshotData } from '../types.ts'

/** One source as read and projected. Id, text, label and cwd may hold lone surrogates here. */
export interface RetainSource {
  readonly sessionId: string
  readonly label: string
  readonly cwd: string | null
  readonly capturedThroughSeq: number | null
  /** Texts that are only counted belong to messages older than the newest budget of bytes: a text is no shorter in JSON. */
  readonly messages: readonly ProjectedMessage[]
}

/** What of a source fits, and the UTF-8 bytes of `data` as tag-safe JSON: never more than the budget. */
export interface Retained {
  readonly data: SnapshotData
  readonly facts: RetentionFacts
  readonly bytes: number
}

/** A message that stays, with well-formed texts. `jsonBytes` counts the comma before it. */
interface Item {
  readonly role: ConversationMessage['role']
  readonly original: string
  text: string
  jsonBytes: number
  omittedBytes: number
}

/** An item in the queue of those to cut; `bytes` are the UTF-8 bytes of its text as it stands now. */
interface Cuttable {
  readonly item: Item
  readonly index: number
  bytes: number
}

const encoder = new TextEncoder()
// Without `ignoreBOM` a tail that starts with U+FEFF would lose it.
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/**
 * Fits a source into `budgetBytes` UTF-8 bytes of tag-safe JSON; refuses with `BUDGET_EXCEEDED` and facts
 * `{sessionId, budgetBytes, neededBytes, option}` when even empty texts are too large. Near-linear in the text it is given.
 *
 * @example
 * const messages = [{ seq: 0, role: 'user', text: 'x'.repeat(1000), checkpoint: false }]
 * const source = { sessionId: 's', label: 's', cwd: null, capturedThroughSeq: 0, messages }
 * const { facts, bytes } = retain(source, 200)
 * bytes <= 200 // => true
 * facts.truncated // => true
 */
export function retain(source: RetainSource, budgetBytes: number): Retained {
  const { capturedThroughSeq, messages } = source
  // The exact id is what URIs are for; several model APIs refuse a request that holds half a surrogate pair.
  const sessionId = source.sessionId.toWellFormed()
  const label = source.label.toWellFormed()
  const cwd = source.cwd === null ? null : source.cwd.toWellFormed()
  const emptyBytes = utf8Bytes(tagSafeJson({ sessionId, label, cwd, capturedThroughSeq, conversation: [] }))

  const { kept, bytes: keptBytes } = keepNewest(messages, emptyBytes, budgetBytes)
  const items = kept.filter((item) => item !== undefined)
  const bytes = keptBytes > budgetBytes ? cutLargest(items, keptBytes, source, budgetBytes) : keptBytes

  const omittedMessages = messages.length - items.length
  let omittedBytes = 0
  for (const item of items) omittedBytes += item.omittedBytes
  if (omittedMessages > 0) {
    messages.forEach(({ text, textBytes = utf8Bytes(text) }, index) => {
      if (kept[index] === undefined) omittedBytes += textBytes
    })
  }
  return {
    data: { sessionId, label, cwd, capturedThroughSeq, conversation: items.map(({ role, text }) => ({ role, text })) },
    facts: {
      compacted: messages.some((message) => message.checkpoint),
      originalMessages: messages.length,
      retainedMessages: items.length,
      omittedMessages,
      omittedBytes,
      truncated: omittedMessages > 0 || omittedBytes > 0,
    },
    bytes,
  }
}

/**
 * Drops the oldest while too large. Every message has a positive size, so that leaves the longest run of the newest that
 * fits beside the checkpoints: counted from the new end, no dropped message is ever serialised.
 */
function keepNewest(
  messages: readonly ProjectedMessage[],
  emptyBytes: number,
  budgetBytes: number,
): { kept: (Item | undefined)[]; bytes: number } {
  const newest = messages.length - 1
  const kept = messages.map((message, index) => (message.checkpoint || index === newest ? itemOf(message) : undefined))
  // The first item has no comma before it; the newest is always there to be the first.
  let bytes = messages.length === 0 ? emptyBytes : emptyBytes - ','.length
  for (const item of kept) bytes += item?.jsonBytes ?? 0
  for (let index = newest - 1; index >= 0 && bytes < budgetBytes; index--) {
    const message = messages[index]
    if (message === undefined || kept[index] !== undefined) continue
    if (message.textBytes !== undefined) break
    const item = itemOf(message)
    if (bytes + item.jsonBytes > budgetBytes) break
    kept[index] = item
    bytes += item.jsonBytes
  }
  return { kept, bytes }
}

function itemOf({ role, text }: ProjectedMessage): Item {
  const wellFormed = text.toWellFormed()
  return { role, original: wellFormed, text: wellFormed, jsonBytes: itemJsonBytes(role, wellFormed), omittedBytes: 0 }
}

function itemJsonBytes(role: string, text: string): number {
  return ',{"role":"","text":}'.length + role.length + tagSafeStringBytes(text)
}

/**
 * Cuts the item with the most bytes, first of equals, until the whole fits; gives the bytes of the whole.
 *
 * That cuts an item twice at most, so the cost is that of the texts and of keeping the order. A second cut leaves less of
 * both ends, and what it removes is at least as long in JSON as in UTF-8: it removes the whole overflow or empties the
 * item. Only the first cut can fall short, by the escape of the newline it brings in.
 */
function cutLargest(items: readonly Item[], startBytes: number, source: RetainSource, budgetBytes: number): number {
  const queue = items.map((item, index): Cuttable => ({ item, index, bytes: utf8Bytes(item.text) }))
  // An array in order is a heap, and cutting only ever moves its top down.
  queue.sort((a, b) => (isCutBefore(a, b) ? -1 : 1))
  let bytes = startBytes
  while (bytes > budgetBytes) {
    const largest = queue[0]
    if (largest === undefined || largest.bytes === 0) throw budgetExceeded(source.sessionId, budgetBytes, bytes)
    const { item } = largest
    const cut = headAndTail(item.original, largest.bytes - (bytes - budgetBytes))
    const jsonBytes = itemJsonBytes(item.role, cut.text)
    bytes += jsonBytes - item.jsonBytes
    item.text = cut.text
    item.jsonBytes = jsonBytes
    item.omittedBytes = cut.omittedBytes
    largest.bytes = cut.bytes
    sinkTop(queue)
  }
  return bytes
}

function isCutBefore(a: Cuttable, b: Cuttable): boolean {
  return a.bytes > b.bytes || (a.bytes === b.bytes && a.index < b.index)
}

function sinkTop(queue: Cuttable[]): void {
  const top = queue[0]
  if (top === undefined) return
  let hole = 0
  for (;;) {
    const leftIndex = 2 * hole + 1
    const left = queue[leftIndex]
    if (left === undefined) break
    const right = queue[leftIndex + 1]
    const child = right !== undefined && isCutBefore(right, left) ? right : left
    if (isCutBefore(top, child)) break
    queue[hole] = child
    hole = child === left ? leftIndex : leftIndex + 1
  }
  queue[hole] = top
}

/** The longest head/tail slice of a well-formed text that takes at most `targetBytes`, its omission line included. */
function headAndTail(text: string, targetBytes: number): { text: string; bytes: number; omittedBytes: number } {
  // Most cuts of many items leave no room for the line at all; they need no encoding.
  if (targetBytes < omissionLineBytes(0)) return { text: '', bytes: 0, omittedBytes: utf8Bytes(text) }
  const encoded = encoder.encode(text)
  const total = encoded.length
  const slice = (allowance: number) => {
    let headEnd = Math.ceil(allowance / 2)
    let tailStart = total - Math.floor(allowance / 2)
    while (isContinuation(encoded[headEnd])) headEnd -= 1
    while (isContinuation(encoded[tailStart])) tailStart += 1
    const omittedBytes = tailStart - headEnd
    return { headEnd, tailStart, omittedBytes, bytes: total - omittedBytes + omissionLineBytes(omittedBytes) }
  }

  // A larger allowance never gives a smaller result, so halving finds the largest that fits. Both ends only grow with it,
  // and for k more content bytes the omitted number, k smaller, has at most k digits less (9 after 10: one for one).
  let fitting = slice(0)
  if (fitting.bytes > targetBytes) return { text: '', bytes: 0, omittedBytes: total }
  let low = 0
  let high = Math.min(total, targetBytes)
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    const tried = slice(middle)
    if (tried.bytes <= targetBytes) {
      fitting = tried
      low = middle
    } else high = middle - 1
  }
  const head = decoder.decode(encoded.subarray(0, fitting.headEnd))
  const tail = decoder.decode(encoded.subarray(fitting.tailStart))
  return { ...fitting, text: head + tail + omissionLine(fitting.omittedBytes) }
}

function omissionLine(omittedBytes: number): string {
  return `\n[… omitted ${omittedBytes} UTF-8 bytes …]`
}

const OMISSION_LINE_BYTES = utf8Bytes(omissionLine(0)) - '0'.length

function omissionLineBytes(omittedBytes: number): number {
  return OMISSION_LINE_BYTES + String(omittedBytes).length
}

/** True inside a code point of more than one byte; past the end there is none. */
function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

function budgetExceeded(sessionId: string, budgetBytes: number, neededBytes: number): DshRefError {
  return new DshRefError(
    'SESSION_REFERENCE_BUDGET_EXCEEDED',
    `Session ${JSON.stringify(sessionId)} takes ${neededBytes} bytes even with every text cut to nothing, ` +
      `more than its budget of ${budgetBytes}; raise maxReferenceBytes to at least ${neededBytes}`,
    { sessionId, budgetBytes, neededBytes, option: 'maxReferenceBytes' },
  )
}
