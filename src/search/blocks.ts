// Texts as bytes: a block of messages folded for comparison, which is scanned, and the same messages as they were said, which
// are shown. Where blocks are kept is text-cache.ts, what is looked for in them query.ts.

import { foldedText } from '../text/folded-text.ts'
import type { SearchMessage, SearchRole, Shadowing } from './messages.ts'

/**
 * The bytes of a block. `scanned`: a table of the messages, messages replaced since their block was made, and the folded
 * texts, each ended by a byte that no text holds. `originals`: the texts as they are.
 */
export interface BlockBytes {
  readonly scanned: Buffer
  readonly originals: Buffer
}

/** Ends a text; no UTF-8 has it. */
export const TEXT_END = 0xff

const HEAD_BYTES = 8
const ROW_BYTES = 32
const SHADOWING_BYTES = 16

/** Where the values of a row of the table stand. */
const AT = { seq: 0, shadowedBySeq: 8, foldedLength: 16, originalLength: 20, flags: 24 }

const IS_ASSISTANT = 1
const IS_CHECKPOINT = 2
const NOT_SHADOWED = -1

/** Characters of a block: more are several blocks, so that no more has to be in memory at a time. */
const BLOCK_LENGTH = 2 * 1024 * 1024

/** Writes messages as blocks; the shadowings are in the first. */
export function encodeBlocks(messages: readonly SearchMessage[], shadowings: readonly Shadowing[]): BlockBytes[] {
  const groups: SearchMessage[][] = []
  let length = Number.POSITIVE_INFINITY
  for (const message of messages) {
    if (length + message.text.length > BLOCK_LENGTH) {
      groups.push([])
      length = 0
    }
    groups.at(-1)?.push(message)
    length += message.text.length
  }
  if (groups.length === 0 && shadowings.length > 0) groups.push([])
  return groups.map((group, index) => encodeBlock(group, index === 0 ? shadowings : []))
}

function encodeBlock(messages: readonly SearchMessage[], shadowings: readonly Shadowing[]): BlockBytes {
  const folded = messages.map(({ text }) => Buffer.from(foldedText(text)))
  const originals = messages.map(({ text }) => Buffer.from(text))
  const head = Buffer.alloc(HEAD_BYTES + ROW_BYTES * messages.length + SHADOWING_BYTES * shadowings.length)
  head.writeUInt32LE(messages.length, 0)
  head.writeUInt32LE(shadowings.length, 4)
  let at = HEAD_BYTES
  for (const [index, { seq, role, checkpoint, shadowedBySeq = NOT_SHADOWED }] of messages.entries()) {
    head.writeDoubleLE(seq, at + AT.seq)
    head.writeDoubleLE(shadowedBySeq, at + AT.shadowedBySeq)
    head.writeUInt32LE((folded[index] as Buffer).length, at + AT.foldedLength)
    head.writeUInt32LE((originals[index] as Buffer).length, at + AT.originalLength)
    head.writeUInt32LE((role === 'assistant' ? IS_ASSISTANT : 0) | (checkpoint ? IS_CHECKPOINT : 0), at + AT.flags)
    at += ROW_BYTES
  }
  for (const [seq, bySeq] of shadowings) {
    head.writeDoubleLE(seq, at)
    head.writeDoubleLE(bySeq, at + 8)
    at += SHADOWING_BYTES
  }
  const end = Buffer.from([TEXT_END])
  return {
    scanned: Buffer.concat([head, ...folded.flatMap((text) => [text, end])]),
    originals: Buffer.concat(originals),
  }
}

/** What a search may leave out. */
export interface MessageFilter {
  readonly role?: SearchRole | undefined
  /** Leave out what was replaced. */
  readonly isCurrent?: boolean | undefined
}

/** A block as it is read: nothing is decoded that nobody asks for. */
export class Block {
  readonly #scanned: Buffer
  readonly #messages: number
  readonly #shadowings: number

  /** `scanned`: bytes that are what was written; a checksum has told. */
  constructor(scanned: Buffer) {
    this.#scanned = scanned
    this.#messages = scanned.readUInt32LE(0)
    this.#shadowings = scanned.readUInt32LE(4)
  }

  /** The folded texts. */
  get folded(): Buffer {
    return this.#scanned.subarray(HEAD_BYTES + ROW_BYTES * this.#messages + SHADOWING_BYTES * this.#shadowings)
  }

  /** Messages of earlier blocks that were replaced when this one was made. */
  get shadowings(): Shadowing[] {
    const first = HEAD_BYTES + ROW_BYTES * this.#messages
    return Array.from({ length: this.#shadowings }, (_, index): Shadowing => {
      const at = first + SHADOWING_BYTES * index
      return [this.#scanned.readDoubleLE(at), this.#scanned.readDoubleLE(at + 8)]
    })
  }

  /** The ranges of the folded texts that pass a filter, in order; `shadowings` are those of later blocks. */
  wanted(filter: MessageFilter, shadowings: ReadonlyMap<number, number>): Range[] {
    const ranges: Range[] = []
    let start = 0
    for (let at = HEAD_BYTES; at < HEAD_BYTES + ROW_BYTES * this.#messages; at += ROW_BYTES) {
      const end = start + this.#scanned.readUInt32LE(at + AT.foldedLength) + 1
      if (passes(this.#rowAt(at, shadowings), filter)) ranges.push([start, end])
      start = end
    }
    return ranges
  }

  /** The messages without their texts. */
  rows(shadowings: ReadonlyMap<number, number>): MessageRow[] {
    const rows: MessageRow[] = []
    for (let at = HEAD_BYTES; at < HEAD_BYTES + ROW_BYTES * this.#messages; at += ROW_BYTES) {
      const originalBytes = this.#scanned.readUInt32LE(at + AT.originalLength)
      rows.push({ ...this.#rowAt(at, shadowings), originalBytes })
    }
    return rows
  }

  #rowAt(at: number, shadowings: ReadonlyMap<number, number>): Omit<SearchMessage, 'text'> {
    const seq = this.#scanned.readDoubleLE(at + AT.seq)
    const stored = this.#scanned.readDoubleLE(at + AT.shadowedBySeq)
    const flags = this.#scanned.readUInt32LE(at + AT.flags)
    const shadowedBySeq = stored === NOT_SHADOWED ? shadowings.get(seq) : stored
    return {
      seq,
      role: (flags & IS_ASSISTANT) === 0 ? 'user' : 'assistant',
      checkpoint: (flags & IS_CHECKPOINT) !== 0,
      ...(shadowedBySeq !== undefined && { shadowedBySeq }),
    }
  }
}

/** A message without its text, and how long that is among the originals. */
export interface MessageRow extends Omit<SearchMessage, 'text'> {
  readonly originalBytes: number
}

/** The messages of a block as they were said. */
export function messagesOf(rows: readonly MessageRow[], originals: Buffer): SearchMessage[] {
  let end = 0
  return rows.map(({ originalBytes, ...row }) => {
    const start = end
    end += originalBytes
    return { ...row, text: originals.toString('utf8', start, end) }
  })
}

/** Whether a message is looked at. */
export function passes({ role, shadowedBySeq }: Omit<SearchMessage, 'text'>, filter: MessageFilter): boolean {
  if (filter.role !== undefined && role !== filter.role) return false
  return !filter.isCurrent || shadowedBySeq === undefined
}

/** From the first byte or character to behind the last. */
export type Range = readonly [start: number, end: number]
