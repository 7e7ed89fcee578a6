// Session URIs and mentions, both ways: encode/decode an id, format a mention, parse the references out of a text.
// Whether a session of that id exists is up to locate.ts; how many references are allowed, to the pipeline.
import { invalidReference } from '../errors.ts'
import type { Reference } from '../types.ts'

/** The check of `decodeSessionUri` that refused, in the order they are made; an empty payload fails `alphabet`. */
export type UriCheck = 'scheme' | 'alphabet' | 'utf8' | 'json' | 'string' | 'canonical'

const SCHEME = 'dsh-session:'

const FAILURE: Readonly<Record<UriCheck, string>> = {
  scheme: 'does not start with "dsh-session:" in lower case',
  alphabet: 'needs a payload of A-Z, a-z, 0-9, "_" and "-" after "dsh-session:", and nothing else',
  utf8: 'holds bytes that are not UTF-8',
  json: 'holds text that is not JSON',
  string: 'holds JSON that is not a string',
  canonical: 'is not the canonical spelling of any session id',
}

/** What no `\` escapes, and so ends a label without a mention. */
const LINE_TERMINATORS: ReadonlySet<string | undefined> = new Set(['\n', '\r', '\u2028', '\u2029'])

/** Code points of an input shown in a message; a URI of a usual id is shorter. */
const SHOWN_CODE_POINTS = 80

/** Bytes turned into characters by one call, well below the engine's limit of arguments. */
const BINARY_CHUNK = 0x2000

const encoder = new TextEncoder()
// A byte order mark in an id is a character like any other.
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Writes an id as its URI (DESIGN.md section 3, "URI"); every JavaScript string has exactly one.
 *
 * @example
 * encodeSessionUri('login-fix') // => 'dsh-session:ImxvZ2luLWZpeCI'
 */
export function encodeSessionUri(sessionId: string): string {
  const bytes = encoder.encode(JSON.stringify(sessionId))
  let binary = ''
  for (let start = 0; start < bytes.length; start += BINARY_CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(start, start + BINARY_CHUNK))
  }
  const payload = btoa(binary).replaceAll('+', '-').replaceAll('/', '_')
  return SCHEME + payload.replace(/={1,2}$/, '')
}

/**
 * Reads the id out of a URI; refuses with `INVALID_REFERENCE` and facts `{check, input}` whatever `encodeSessionUri` does not write.
 *
 * @example
 * decodeSessionUri('dsh-session:ImxvZ2luLWZpeCI') // => 'login-fix'
 */
export function decodeSessionUri(uri: string): string {
  if (!uri.startsWith(SCHEME)) throw malformed('scheme', uri)
  const payload = uri.slice(SCHEME.length)
  if (!/^[A-Za-z0-9_-]+$/.test(payload)) throw malformed('alphabet', uri)
  // Six bits are no byte: no encoder ends on a single character of a group of four, and `atob` throws on one.
  if (payload.length % 4 === 1) throw malformed('canonical', uri)
  const json = decodeUtf8(payload, uri)
  const sessionId = parseJson(json, uri)
  if (typeof sessionId !== 'string') throw malformed('string', uri)
  if (encodeSessionUri(sessionId) !== uri) throw malformed('canonical', uri)
  return sessionId
}

/**
 * Writes a mention; without a label the id is the label. In a label `\` and `]` get a `\` before them.
 *
 * @example
 * formatMention({ sessionId: 'login-fix', label: 'Login [fix]' }) // => '@[Login [fix\\]](dsh-session:ImxvZ2luLWZpeCI)'
 */
export function formatMention(reference: { readonly sessionId: string; readonly label?: string }): string {
  const label = reference.label ?? reference.sessionId
  return `@[${label.replace(/[\\\]]/g, '\\$&')}](${encodeSessionUri(reference.sessionId)})`
}

/**
 * Finds the references in a text, in order of appearance, and puts `@label` in the place of each (a bare URI: `@id`).
 * Refuses with `INVALID_REFERENCE` at the first malformed one (DESIGN.md section 3, "Mention"). Duplicates stay. Takes
 * time linear in the text.
 *
 * @example
 * const { text, references } = parseReferenceText('Go on from @[the fix](dsh-session:ImxvZ2luLWZpeCI).')
 * text // => 'Go on from @the fix.'
 * references // => [{ sessionId: 'login-fix', label: 'the fix' }]
 */
export function parseReferenceText(text: string): { text: string; references: Reference[] } {
  const references: Reference[] = []
  let written = ''
  let copiedTo = 0
  const take = (start: number, end: number, reference: Reference) => {
    references.push(reference)
    written += `${text.slice(copiedTo, start)}@${reference.label}`
    copiedTo = end
  }

  const findMention = mentionFinder(text)
  const token = /@\[|dsh-session:[A-Za-z0-9_-]+/g
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const start = match.index
    if (match[0] !== '@[') {
      const sessionId = decodeSessionUri(match[0])
      take(start, token.lastIndex, { sessionId, label: sessionId })
      continue
    }
    const mention = findMention(start)
    if (mention === undefined) continue
    const label = text.slice(start + '@['.length, mention.labelEnd).replace(/\\(.)/g, '$1')
    take(start, mention.end, { sessionId: decodeSessionUri(mention.uri), label })
    token.lastIndex = mention.end
  }
  return { text: written + text.slice(copiedTo), references }
}

interface MentionPlace {
  readonly labelEnd: number
  readonly uri: string
  readonly end: number
}

/**
 * Tells whether a mention starts at a given `@[`, asked from left to right. Two facts keep a text full of openings
 * linear. A scan for the end of a label meets every later opening between two escapes, so all openings before that end
 * share it, and share the answer when it is no. And all destinations before a `)` or a blank end there.
 */
function mentionFinder(text: string): (start: number) => MentionPlace | undefined {
  const destinationEnd = /[)\s]/g
  const destinationStart = `](${SCHEME}`
  let noneBefore = 0
  let knownEnd = 0

  return (start) => {
    if (start < noneBefore) return undefined
    const labelEnd = labelEndFrom(text, start + '@['.length)
    noneBefore = labelEnd
    if (!text.startsWith(destinationStart, labelEnd)) return undefined
    const uriStart = labelEnd + ']('.length
    if (uriStart > knownEnd) {
      destinationEnd.lastIndex = uriStart
      knownEnd = destinationEnd.exec(text)?.index ?? text.length
    }
    if (text[knownEnd] !== ')') return undefined
    return { labelEnd, uri: text.slice(uriStart, knownEnd), end: knownEnd + 1 }
  }
}

/** Index of the first `]` without a `\` before it, of a `\` that stands before a line terminator, or the length of the text. */
function labelEndFrom(text: string, start: number): number {
  for (let index = start; index < text.length; index++) {
    if (text[index] === ']') return index
    if (text[index] !== '\\') continue
    if (LINE_TERMINATORS.has(text[index + 1])) return index
    index += 1
  }
  return text.length
}

function decodeUtf8(payload: string, uri: string): string {
  const binary = atob(payload.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  try {
    return decoder.decode(bytes)
  } catch (cause) {
    if (cause instanceof TypeError) throw malformed('utf8', uri)
    throw cause
  }
}

function parseJson(json: string, uri: string): unknown {
  try {
    return JSON.parse(json)
  } catch (cause) {
    if (cause instanceof SyntaxError) throw malformed('json', uri)
    throw cause
  }
}

function malformed(check: UriCheck, input: string) {
  return invalidReference(
    `Session URI ${shown(input)} ${FAILURE[check]}; copy it again, or write it with "dsh-ref uri encode"`,
    { check, input },
  )
}

/** Quotes an input for a message: shortened, and with nothing a terminal acts on or a person cannot see. */
function shown(input: string): string {
  const start = new RegExp(`^[^]{0,${SHOWN_CODE_POINTS}}`, 'u').exec(input)?.[0] ?? ''
  const quoted = JSON.stringify(start).replace(
    /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  return start.length === input.length ? quoted : `${quoted}… (${input.length} characters)`
}
