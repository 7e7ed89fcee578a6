// The quick reading of the message in a kept row: walks over all of the row, checks it as JSON and as a message, and decodes
// only the strings that are wanted. It takes what it is sure of; every other row, and so every row with a wrong shape, goes
// to parseRecord and message.ts, whose verdict counts. Both must agree on every row the quick one takes. The same walk makes
// rows slim without parsing them, where slim-row.ts would otherwise.

import type { SurfaceMessage, SurfaceType } from '../types.ts'
import { bytesOf, hasBytes, skipInteger, skipString, skipValue } from './json-walk.ts'
import { isErrorFlagDue, surfaceMessage } from './message.ts'
import { decodeUtf8 } from './records.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const MINUS = 0x2d
const ZERO = 0x30
const COLON = 0x3a
const BRACKET_OPEN = 0x5b
const BACKSLASH = 0x5c
const BRACKET_CLOSE = 0x5d
const BRACE_OPEN = 0x7b
const BRACE_CLOSE = 0x7d

const TIME = bytesOf(',"time":')
const DATA = bytesOf(',"data":')
const BEHIND_DATA = [bytesOf(',"sourceEventSeqs":'), bytesOf(',"surfaceOp":')]
const TRUE = bytesOf('true')
const FALSE = bytesOf('false')
const TEXT = bytesOf('"text"')
const TOOL_RESULT = bytesOf('"tool-result"')
const MODEL = bytesOf('"model"')
const TOOL = bytesOf('"tool"')

type Role = SurfaceMessage['role']

/** What rows of a type begin with, and the roles their messages may have. */
interface Expected {
  readonly prefix: Uint8Array
  readonly roles: readonly { readonly role: Role; readonly bytes: Uint8Array }[]
}

function expected(type: SurfaceType, ...roles: readonly Role[]): Expected {
  return {
    prefix: bytesOf(`{"type":"${type}","seq":`),
    roles: roles.map((role) => ({ role, bytes: bytesOf(`"${role}"`) })),
  }
}

const EXPECTED: Readonly<Record<SurfaceType, Expected>> = {
  'user/message': expected('user/message', 'user'),
  'assistant/message': expected('assistant/message', 'assistant'),
  'system/message': expected('system/message', 'system'),
  'developer/message': expected('developer/message', 'developer'),
  'tool/result': expected('tool/result', 'user'),
}
const RESULT_SINCE_4 = expected('tool/result', 'tool', 'user')

/** The keys of an object that mean something, each with its closing quote and colon. */
type Keys = readonly Uint8Array[]

function keys(...names: readonly string[]): Keys {
  return names.map((name) => bytesOf(`${name}":`))
}

const DATA_KEYS = keys('message', 'error')
const MESSAGE_KEYS = keys('id', 'role', 'content', 'source', 'toolCallId', 'isError')
const SOURCE_KEYS = keys('kind', 'plugin', 'callId')
const BLOCK_KEYS = keys('type', 'text')
const WRAPPER_KEYS = keys('type', 'toolCallId', 'content', 'isError')

/** Walks over the value of a key, given by its place in the list, and returns the offset behind it, or −1. */
type Member = (key: number, at: number) => number

/** Where a string stands, quotes included. */
class Place {
  start = 0
  /** 0 when there is no such string. */
  end = 0

  clear(): void {
    this.start = 0
    this.end = 0
  }

  set(start: number, end: number): number {
    this.start = start
    this.end = end
    return end
  }
}

/** Puts bytes together from parts of a row and from text in between. */
class Splice {
  #row: Uint8Array = new Uint8Array()
  #bytes: Uint8Array = new Uint8Array()
  #length = 0

  begin(row: Uint8Array): this {
    this.#row = row
    this.#length = 0
    return this
  }

  range(start: number, end: number): this {
    this.#grow(end - start)
    this.#bytes.set(this.#row.subarray(start, end), this.#length)
    this.#length += end - start
    return this
  }

  /** Adds ASCII text. */
  text(text: string): this {
    this.#grow(text.length)
    for (let index = 0; index < text.length; index++) this.#bytes[this.#length++] = text.charCodeAt(index)
    return this
  }

  end(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  #grow(by: number): void {
    if (this.#length + by <= this.#bytes.length) return
    const grown = new Uint8Array(2 * (this.#length + by))
    grown.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = grown
  }
}

const SURFACE_TYPES = Object.keys(EXPECTED) as SurfaceType[]

/** Reads messages of one log into its own fields, so that the walk over a large row allocates nothing. */
export class MessageBytes {
  readonly #version: number
  #bytes: Uint8Array = new Uint8Array()
  #end = 0
  #isResult = false
  #roles: Expected['roles'] = []

  // What was met in the row at hand.
  #role: Role | undefined
  readonly #id = new Place()
  readonly #kind = new Place()
  readonly #plugin = new Place()
  readonly #callId = new Place()
  readonly #toolCallId = new Place()
  readonly #wrapperType = new Place()
  #hasContent = false
  #hasError = false
  #isError = false
  /** First byte of the data, the one behind the last, and the same of the content of the message or the tool result. */
  #dataStart = 0
  #dataEnd = 0
  #contentStart = 0
  #contentEnd = 0
  /** Starts and ends of the texts. */
  readonly #texts: number[] = []
  /** Starts and ends of the types of all blocks, and the place of each text in `#texts`, or −1. */
  readonly #blockTypes: number[] = []

  // What was met in the block at hand.
  readonly #blockType = new Place()
  readonly #blockText = new Place()
  /** Whether the blocks may be anything: those in a wrapped tool result. */
  #isAnything = false
  readonly #slim = new Splice()

  constructor(formatVersion: number) {
    this.#version = formatVersion
  }

  /** The message in a row of this type and seq, its text empty unless wanted; `undefined` when in doubt. */
  read(row: Uint8Array, type: SurfaceType, seq: number, isTextWanted: boolean): SurfaceMessage | undefined {
    if (!this.#walk(row, type, seq)) return undefined
    return surfaceMessage({
      seq,
      type,
      role: this.#role as Role,
      id: this.#string(this.#id),
      source: { kind: this.#string(this.#kind) ?? '', plugin: this.#string(this.#plugin) },
      text: isTextWanted ? this.#text() : '',
    })
  }

  /**
   * The row with no more in it than is asked for later (slim-row.ts), valid until the next call; `undefined` when in doubt,
   * or when it would not become smaller.
   */
  slim(row: Uint8Array, isTextWanted: (type: SurfaceType) => boolean): Uint8Array | undefined {
    const type = SURFACE_TYPES.find((known) => hasBytes(row, 0, EXPECTED[known].prefix))
    if (!type || !this.#walk(row, type, undefined)) return undefined
    const slim = this.#slim.begin(row)
    const isKept = isTextWanted(type)
    if (type === 'tool/result') this.#slimResult(slim, isKept)
    else this.#slimMessage(slim, type, isKept)
    const bytes = slim.text('}').end()
    return bytes.length < row.length ? bytes : undefined
  }

  #slimMessage(slim: Splice, type: SurfaceType, isTextKept: boolean): void {
    slim.range(0, this.#dataStart).text(type === 'user/message' ? '{' : '{"message":{')
    if (this.#id.end > 0) slim.text('"id":').range(this.#id.start, this.#id.end).text(',')
    slim.text(`"role":"${this.#role}","content":[`)
    for (let at = 0; at < this.#blockTypes.length; at += 3) {
      slim.text(at === 0 ? '{"type":' : ',{"type":')
      slim.range(this.#blockTypes[at] as number, this.#blockTypes[at + 1] as number)
      const text = this.#blockTypes[at + 2] as number
      if (isTextKept && text !== -1) {
        slim.text(',"text":').range(this.#texts[text] as number, this.#texts[text + 1] as number)
      }
      slim.text('}')
    }
    slim.text('],"source":{"kind":').range(this.#kind.start, this.#kind.end)
    if (this.#plugin.end > 0) slim.text(',"plugin":').range(this.#plugin.start, this.#plugin.end)
    slim.text(type === 'user/message' ? '}}' : '}}}')
  }

  /** A later rewrite is compared with all of it but the content of the result. */
  #slimResult(slim: Splice, isTextKept: boolean): void {
    slim.range(0, this.#contentStart).text('[')
    for (let at = 0; isTextKept && at < this.#texts.length; at += 2) {
      slim.text(at === 0 ? '{"type":"text","text":' : ',{"type":"text","text":')
      slim.range(this.#texts[at] as number, this.#texts[at + 1] as number).text('}')
    }
    slim.text(']').range(this.#contentEnd, this.#dataEnd)
  }

  /** Whether the row is what it should be; then its parts are in the fields. Without a seq any will do. */
  #walk(row: Uint8Array, type: SurfaceType, seq: number | undefined): boolean {
    this.#isResult = type === 'tool/result'
    const { prefix, roles } = this.#isResult && this.#version >= 4 ? RESULT_SINCE_4 : EXPECTED[type]
    this.#begin(row, roles)
    let at = hasBytes(row, 0, prefix) ? this.#seq(prefix.length, seq) : -1
    if (at !== -1) at = hasBytes(row, at, TIME) ? this.#time(at + TIME.length) : -1
    if (at === -1 || !hasBytes(row, at, DATA)) return false
    at += DATA.length
    this.#dataStart = at
    at = type === 'user/message' ? this.#message(at) : this.#object(at, DATA_KEYS, this.#dataMember)
    this.#dataEnd = at
    for (const key of BEHIND_DATA) {
      if (at !== -1 && hasBytes(row, at, key)) at = skipValue(row, at + key.length, this.#end)
    }
    return at === this.#end - 1 && row[at] === BRACE_CLOSE && this.#isMessage(type)
  }

  #begin(row: Uint8Array, roles: Expected['roles']): void {
    this.#bytes = row
    this.#end = row.length
    this.#roles = roles
    this.#role = undefined
    this.#id.clear()
    this.#kind.clear()
    this.#plugin.clear()
    this.#callId.clear()
    this.#toolCallId.clear()
    this.#wrapperType.clear()
    this.#hasContent = false
    this.#hasError = false
    this.#isError = false
    this.#texts.length = 0
    this.#blockTypes.length = 0
  }

  /** Whether nothing is missing and all fits together; that each member is what it should be was seen on the way. */
  #isMessage(type: SurfaceType): boolean {
    if (this.#role === undefined || !this.#hasContent || this.#kind.end === 0) return false
    if (type === 'assistant/message') return hasBytes(this.#bytes, this.#kind.start, MODEL)
    if (type !== 'tool/result') return true
    if (!hasBytes(this.#bytes, this.#kind.start, TOOL) || !this.#isSame(this.#callId, this.#toolCallId)) return false
    return !this.#hasError || this.#isError || !isErrorFlagDue(this.#version)
  }

  /** Data of every event but a user's, whose data is the message itself. */
  readonly #dataMember: Member = (key, at) => {
    if (key === 0) return this.#message(at)
    this.#hasError = true
    return skipValue(this.#bytes, at, this.#end)
  }

  #message(at: number): number {
    return this.#object(at, MESSAGE_KEYS, this.#messageMember)
  }

  readonly #messageMember: Member = (key, at) => {
    const isDirectResult = this.#role === 'tool'
    switch (key) {
      case 0:
        // An id may be anything; one that is no string counts as none.
        if (this.#bytes[at] !== QUOTE) return skipValue(this.#bytes, at, this.#end)
        return this.#id.set(at, skipString(this.#bytes, at, this.#end))
      case 1:
        for (const { role, bytes } of this.#roles) {
          if (!hasBytes(this.#bytes, at, bytes)) continue
          this.#role = role
          return at + bytes.length
        }
        return -1
      case 2:
        // What may stand in it depends on the role, which writers put before it.
        if (this.#role === undefined) return -1
        this.#hasContent = true
        return this.#isResult && !isDirectResult ? this.#wrapper(at) : this.#blocks(at, false)
      case 3:
        return this.#object(at, SOURCE_KEYS, this.#sourceMember)
      case 4:
        if (isDirectResult) return this.#plainString(at, this.#toolCallId)
        return this.#role === undefined ? -1 : skipValue(this.#bytes, at, this.#end)
      default:
        if (this.#role === undefined || (isDirectResult && !this.#isBoolean(at))) return -1
        if (isDirectResult) this.#isError = hasBytes(this.#bytes, at, TRUE)
        return skipValue(this.#bytes, at, this.#end)
    }
  }

  readonly #sourceMember: Member = (key, at) => {
    if (key === 0) {
      const end = this.#plainString(at, this.#kind)
      return end === at + '""'.length ? -1 : end
    }
    if (key === 2 && this.#isResult) return this.#plainString(at, this.#callId)
    if (key === 1 && this.#bytes[at] === QUOTE) return this.#plainString(at, this.#plugin)
    return skipValue(this.#bytes, at, this.#end)
  }

  /** The content of a tool result that is wrapped: a list of one block. */
  #wrapper(at: number): number {
    if (this.#bytes[at] !== BRACKET_OPEN) return -1
    this.#hasContent = false
    const end = this.#object(at + 1, WRAPPER_KEYS, this.#wrapperMember)
    return end !== -1 && this.#bytes[end] === BRACKET_CLOSE && this.#wrapperType.end > 0 ? end + 1 : -1
  }

  readonly #wrapperMember: Member = (key, at) => {
    switch (key) {
      case 0:
        return hasBytes(this.#bytes, at, TOOL_RESULT) ? this.#wrapperType.set(at, at + TOOL_RESULT.length) : -1
      case 1:
        return this.#plainString(at, this.#toolCallId)
      case 2:
        this.#hasContent = true
        return this.#blocks(at, true)
      default:
        this.#isError = hasBytes(this.#bytes, at, TRUE)
        return skipValue(this.#bytes, at, this.#end)
    }
  }

  #blocks(from: number, isAnything: boolean): number {
    const bytes = this.#bytes
    if (bytes[from] !== BRACKET_OPEN) return -1
    this.#isAnything = isAnything
    this.#contentStart = from
    let at = from + 1
    let next = bytes[at] === BRACKET_CLOSE ? bytes[at++] : COMMA
    while (next === COMMA) {
      if (bytes[at] === BRACE_OPEN) at = this.#block(at)
      else at = isAnything ? skipValue(bytes, at, this.#end) : -1
      if (at === -1) return -1
      next = bytes[at++]
    }
    this.#contentEnd = at
    return next === BRACKET_CLOSE ? at : -1
  }

  #block(at: number): number {
    this.#blockType.clear()
    this.#blockText.clear()
    const end = this.#object(at, BLOCK_KEYS, this.#blockMember)
    if (end === -1 || this.#blockType.end === 0) return this.#isAnything ? end : -1
    const isText = this.#blockText.end > 0 && hasBytes(this.#bytes, this.#blockType.start, TEXT)
    this.#blockTypes.push(this.#blockType.start, this.#blockType.end, isText ? this.#texts.length : -1)
    if (isText) this.#texts.push(this.#blockText.start, this.#blockText.end)
    return end
  }

  readonly #blockMember: Member = (key, at) => {
    const isString = this.#bytes[at] === QUOTE
    if (key === 0 && (isString || !this.#isAnything)) return this.#plainString(at, this.#blockType)
    if (key === 1 && isString) return this.#blockText.set(at, skipString(this.#bytes, at, this.#end))
    return skipValue(this.#bytes, at, this.#end)
  }

  /**
   * Walks over an object. A known key that comes twice is a doubt, because JSON.parse takes the last one, and so is a key
   * with an escape in it, which may be a known one in disguise.
   */
  #object(from: number, known: Keys, member: Member): number {
    const bytes = this.#bytes
    if (bytes[from] !== BRACE_OPEN) return -1
    let at = from + 1
    if (bytes[at] === BRACE_CLOSE) return at + 1
    let seen = 0
    for (;;) {
      if (bytes[at] !== QUOTE) return -1
      const key = keyAt(bytes, at + 1, known)
      if (key === -1) {
        at = this.#plainString(at, undefined)
        if (at === -1 || bytes[at] !== COLON) return -1
        at = skipValue(bytes, at + 1, this.#end)
      } else {
        if (seen & (1 << key)) return -1
        seen |= 1 << key
        at = member(key, at + 1 + (known[key] as Uint8Array).length)
      }
      if (at === -1) return -1
      const next = bytes[at++]
      if (next === BRACE_CLOSE) return at
      if (next !== COMMA) return -1
    }
  }

  /** Walks over a string that is spelled without escapes. */
  #plainString(from: number, place: Place | undefined): number {
    const end = skipString(this.#bytes, from, this.#end)
    for (let at = from; at < end; at++) if (this.#bytes[at] === BACKSLASH) return -1
    if (end !== -1) place?.set(from, end)
    return end
  }

  #isBoolean(at: number): boolean {
    return hasBytes(this.#bytes, at, TRUE) || hasBytes(this.#bytes, at, FALSE)
  }

  #isSame(one: Place, other: Place): boolean {
    if (one.end === 0 || one.end - one.start !== other.end - other.start) return false
    for (let index = one.end - one.start - 1; index >= 0; index--) {
      if (this.#bytes[one.start + index] !== this.#bytes[other.start + index]) return false
    }
    return true
  }

  #seq(from: number, seq: number | undefined): number {
    const at = skipInteger(this.#bytes, from)
    if (at === -1 || seq === undefined) return at
    let value = 0
    for (let index = from; index < at; index++) value = value * 10 + (this.#bytes[index] as number) - ZERO
    return value === seq ? at : -1
  }

  #time(from: number): number {
    return skipInteger(this.#bytes, this.#bytes[from] === MINUS ? from + 1 : from)
  }

  #string({ start, end }: Place): string | undefined {
    return end === 0 ? undefined : this.#decoded(start, end)
  }

  #text(): string {
    const [start, end] = this.#texts
    if (start === undefined || end === undefined) return ''
    if (this.#texts.length === 2) return this.#decoded(start, end)
    const texts: string[] = []
    for (let at = 0; at < this.#texts.length; at += 2) {
      texts.push(this.#decoded(this.#texts[at] as number, this.#texts[at + 1] as number))
    }
    return texts.join('\n')
  }

  #decoded(start: number, end: number): string {
    const json = decodeUtf8(this.#bytes, start, end)
    return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1)
  }
}

/** Which of the known keys begins at `at`; −1 for none. */
function keyAt(bytes: Uint8Array, at: number, known: Keys): number {
  for (let key = 0; key < known.length; key++) if (hasBytes(bytes, at, known[key] as Uint8Array)) return key
  return -1
}
