// Reads of a JSON text only what a shape names; all the rest is walked over and left out. What it is not sure of (blanks, keys
// with escapes, deep nesting) it leaves to JSON.parse. Nothing is judged here: the value it gives is checked like any other.

import { isUtf8 } from 'node:buffer'
import { bytesOf, hasBytes, skipString, skipValue } from './json-walk.ts'
import type { TextUse } from './message.ts'
import type { Json, Shape } from './shape.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const LETTER_U = 0x75
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d

/** What of a value is read: its members or entries; of any other value, and without those, the value if it is no container. */
export interface Pick {
  readonly members?: readonly PickedMember[]
  readonly entries?: Pick
  readonly isText?: boolean
}

interface PickedMember {
  readonly name: string
  /** The key as stored behind its first quote, colon included. */
  readonly bytes: Uint8Array
  readonly pick: Pick
}

/** What a shape names. */
export function pickOf(shape: Shape): Pick {
  switch (shape.is) {
    case 'anything':
      return shape.reads ? pickOf(shape.reads) : {}
    case 'text':
      return { isText: true }
    case 'list':
      return { entries: pickOf(shape.entries) }
    case 'object':
      return pickMembers(Object.fromEntries(shape.members.map(({ key, shape }) => [key, pickOf(shape)])))
    case 'either':
      return shape.shapes.map(pickOf).reduce(merged)
    default:
      return {}
  }
}

/** The members of an object, by name. */
export function pickMembers(members: Readonly<Record<string, Pick>>): Pick {
  return { members: Object.entries(members).map(([name, pick]) => ({ name, bytes: bytesOf(`${name}":`), pick })) }
}

/** What either of two picks reads. */
export function merged(one: Pick, other: Pick): Pick {
  const members = Object.fromEntries((one.members ?? []).map(({ name, pick }) => [name, pick]))
  for (const { name, pick } of other.members ?? []) members[name] = members[name] ? merged(members[name], pick) : pick
  const entries = one.entries && other.entries ? merged(one.entries, other.entries) : (one.entries ?? other.entries)
  const isText = one.isText || other.isText
  return {
    ...(one.members || other.members ? pickMembers(members) : {}),
    ...(entries && { entries }),
    ...(isText && { isText }),
  }
}

/** A part of a text that nobody reads, and what may stand in its place. */
export interface Unread {
  readonly start: number
  readonly end: number
  /** A list of blocks whose texts are not wanted, or the value of a key that the shape does not name. */
  readonly kind: 'blocks' | 'value'
}

/** Reads one text at a time. */
export class JsonPicker {
  /** Parts that were left out, in order; noted on demand. */
  readonly unread: Unread[] = []
  #bytes: Uint8Array = new Uint8Array()
  #at = 0
  #end = 0
  #texts: TextUse = 'read'
  #notesUnread = false

  /**
   * The value that is all of `bytes`; a text that is to be counted is the number of its UTF-8 bytes, one that is not wanted
   * is left out. `undefined` when in doubt.
   */
  read(bytes: Uint8Array, pick: Pick, texts: TextUse, notesUnread = false): unknown {
    // Bytes that are no UTF-8 count as the U+FFFD they are read as, which only decoding tells.
    if (texts === 'counted' && !isUtf8(bytes)) return undefined
    this.#bytes = bytes
    this.#at = 0
    this.#end = bytes.length
    this.#texts = texts
    this.#notesUnread = notesUnread
    this.unread.length = 0
    const value = this.#value(pick)
    return this.#at === this.#end ? value : undefined
  }

  /** The value at hand, and behind it `#at`; `undefined` when in doubt. */
  #value(pick: Pick): unknown {
    const bytes = this.#bytes
    const start = this.#at
    const first = bytes[start]
    if (first === BRACE_OPEN && pick.members) return this.#object(pick.members)
    if (first === BRACKET_OPEN && pick.entries) return this.#list(pick.entries)
    const end = skipValue(bytes, start, this.#end)
    if (end === -1) return undefined
    this.#at = end
    if (first === BRACE_OPEN) return {}
    if (first === BRACKET_OPEN) return []
    if (!pick.isText || this.#texts === 'read') return decoded(bytes, start, end)
    return this.#texts === 'counted' && first === QUOTE ? stringBytes(bytes, start + 1, end - 1) : null
  }

  #object(members: readonly PickedMember[]): Json | undefined {
    const bytes = this.#bytes
    const object: Json = {}
    if (bytes[this.#at + 1] === BRACE_CLOSE) {
      this.#at += 2
      return object
    }
    for (;;) {
      // Behind the brace or the comma.
      this.#at++
      if (bytes[this.#at] !== QUOTE) return undefined
      const member = memberAt(bytes, this.#at + 1, members)
      if (member) {
        this.#at += 1 + member.bytes.length
        const value = this.#value(member.pick)
        if (value === undefined) return undefined
        object[member.name] = value
      } else if (!this.#skipMember()) return undefined
      const next = bytes[this.#at]
      if (next === COMMA) continue
      if (next !== BRACE_CLOSE) return undefined
      this.#at++
      return object
    }
  }

  #skipMember(): boolean {
    const bytes = this.#bytes
    const keyEnd = skipString(bytes, this.#at, this.#end)
    // A key with an escape in it may be one that is asked for.
    for (let at = this.#at; at < keyEnd; at++) if (bytes[at] === BACKSLASH) return false
    if (keyEnd === -1 || bytes[keyEnd] !== COLON) return false
    const start = keyEnd + 1
    this.#at = skipValue(bytes, start, this.#end)
    if (this.#notesUnread) this.unread.push({ start, end: this.#at, kind: 'value' })
    return this.#at !== -1
  }

  #list(entries: Pick): unknown[] | undefined {
    const bytes = this.#bytes
    const start = this.#at
    const unread = this.unread.length
    const list: unknown[] = []
    if (bytes[start + 1] === BRACKET_CLOSE) this.#at = start + 2
    else {
      do {
        this.#at++
        const value = this.#value(entries)
        if (value === undefined) return undefined
        list.push(value)
      } while (bytes[this.#at] === COMMA)
      if (bytes[this.#at++] !== BRACKET_CLOSE) return undefined
    }
    if (this.#notesUnread && this.#texts === 'none' && hasTexts(entries)) this.#noteBlocks(unread, start)
    return list
  }

  /** The innermost list is the one with the blocks: another one is that of a wrapper. */
  #noteBlocks(from: number, start: number): void {
    for (let index = from; index < this.unread.length; index++) if (this.unread[index]?.kind === 'blocks') return
    this.unread.length = from
    this.unread.push({ start, end: this.#at, kind: 'blocks' })
  }
}

function hasTexts({ members = [] }: Pick): boolean {
  return members.some(({ pick }) => pick.isText)
}

function memberAt(bytes: Uint8Array, at: number, members: readonly PickedMember[]): PickedMember | undefined {
  for (const member of members) if (hasBytes(bytes, at, member.bytes)) return member
  return undefined
}

/** A string, a number or a word of JSON. */
function decoded(bytes: Uint8Array, start: number, end: number): unknown {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8', start, end)
  return bytes[start] === QUOTE && !json.includes('\\') ? json.slice(1, -1) : JSON.parse(json)
}

/** UTF-8 bytes of a string of JSON between its quotes: as stored, but for escapes. A lone surrogate counts 3. */
function stringBytes(bytes: Uint8Array, start: number, end: number): number {
  let count = end - start
  for (let at = start; at < end; at++) {
    if (bytes[at] !== BACKSLASH) continue
    at++
    if (bytes[at] !== LETTER_U) {
      count--
      continue
    }
    const unit = hexAt(bytes, at + 1)
    at += 4
    if (unit < 0x80) count -= 5
    else if (unit < 0x800) count -= 4
    else {
      count -= 3
      const isPair =
        unit >= 0xd800 && unit <= 0xdbff && bytes[at + 1] === BACKSLASH && bytes[at + 2] === LETTER_U && at + 6 < end
      const low = isPair ? hexAt(bytes, at + 3) : 0
      if (low < 0xdc00 || low > 0xdfff) continue
      // Two escapes of six bytes each for four.
      count -= 5
      at += 6
    }
  }
  return count
}

function hexAt(bytes: Uint8Array, at: number): number {
  let value = 0
  for (let index = at; index < at + 4; index++) {
    const byte = bytes[index] as number
    value = value * 16 + (byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57)
  }
  return value
}
