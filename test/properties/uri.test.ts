// Laws of session URIs and mentions, for any string.
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import { decodeSessionUri, encodeSessionUri, formatMention, parseReferenceText } from '../../src/reference/uri.ts'
import type { Reference } from '../../src/types.ts'
import { chosenOf } from '../support/exhaustive.ts'

const RUNS = { numRuns: chosenOf(600, 2000) }

/** Any JavaScript string: every code unit on its own, lone surrogates included, and the ones that mean something often. */
const anyString = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('a', '"', '\\', ']', '[', '@', '\n', '\ud800', '\udc00', '🚀', '界', '\ufeff', '<'),
  ),
  maxLength: 40,
})

/** A text made of the pieces mentions are made of, so that most of it almost is one. */
const mentionSoup = fc
  .array(
    fc.constantFrom(
      '@[',
      '@',
      '[',
      ']',
      '](dsh-session:',
      '](',
      ')',
      '\\',
      'dsh-session:',
      'dsh-session:ImEi',
      'ImEi',
      'IuS8muivnSI',
      ' ',
      '\n',
      '\\\n',
      '\\\r',
      '\u2028',
      '\u2029',
      'x',
      '界',
    ),
    { maxLength: 24 },
  )
  .map((pieces) => pieces.join(''))

/** What `call` gives, or its refusal as an invalid reference; anything else it throws fails the property. */
function orRefusal<T>(call: () => T): T | 'refused' {
  try {
    return call()
  } catch (error) {
    if (error instanceof DshRefError && error.code === 'SESSION_REFERENCE_INVALID_REFERENCE') return 'refused'
    throw error
  }
}

/** The rule of DESIGN.md as one regular expression: obviously right, and quadratic on hostile texts. */
function parseByRegex(text: string): { text: string; references: Reference[] } {
  const references: Reference[] = []
  const written = text.replace(
    /@\[((?:\\.|[^\\\]])*)\]\((dsh-session:[^)\s]*)\)|dsh-session:[A-Za-z0-9_-]+/g,
    (whole, escaped: string | undefined, uri: string | undefined) => {
      const sessionId = decodeSessionUri(uri ?? whole)
      const label = escaped?.replace(/\\(.)/g, (_, character: string) => character) ?? sessionId
      references.push({ sessionId, label })
      return `@${label}`
    },
  )
  return { text: written, references }
}

describe('session URIs', () => {
  it('decode to the id they were encoded from', () => {
    fc.assert(
      fc.property(anyString, (id) => {
        const uri = encodeSessionUri(id)
        expect(uri).toMatch(/^dsh-session:[A-Za-z0-9_-]+$/)
        expect(decodeSessionUri(uri)).toBe(id)
      }),
      RUNS,
    )
  })

  it('are refused when they are not what their id encodes to', () => {
    const payload = fc.string({ unit: fc.constantFrom(...'ABIJQgZadefhijklmpqyz0189-_'), maxLength: 24 })
    fc.assert(
      fc.property(payload, (text) => {
        const id = orRefusal(() => decodeSessionUri(`dsh-session:${text}`))
        if (id !== 'refused') expect(encodeSessionUri(id)).toBe(`dsh-session:${text}`)
      }),
      RUNS,
    )
  })

  it('are refused in any other spelling of the same id', () => {
    const escapeAll = (id: string) =>
      `"${id.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
    const encodePayload = (json: string) => `dsh-session:${Buffer.from(json).toString('base64url')}`
    const spellings: readonly ((id: string) => string)[] = [
      (id) => encodePayload(` ${JSON.stringify(id)}`),
      (id) => encodePayload(`${JSON.stringify(id)}\n`),
      (id) => encodePayload(`\ufeff${JSON.stringify(id)}`),
      (id) => encodePayload(escapeAll(`${id}a`)),
      (id) => encodePayload(JSON.stringify(`${id}/`).replaceAll('/', '\\/')),
      (id) => `${encodeSessionUri(id)}=`,
      (id) => `${encodeSessionUri(id)}A`,
      (id) => ` ${encodeSessionUri(id)}`,
      (id) => encodeSessionUri(id).replace('dsh', 'DSH'),
      (id) => encodeSessionUri(`${id}>>>???`).replaceAll('-', '+').replaceAll('_', '/').replace('+', '-'),
    ]
    fc.assert(
      fc.property(anyString, fc.constantFrom(...spellings), (id, spell) => {
        const uri = spell(id)
        fc.pre(uri !== encodeSessionUri(id))
        expect(orRefusal(() => decodeSessionUri(uri))).toBe('refused')
      }),
      RUNS,
    )
  })

  it('are refused with other bits left over', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    fc.assert(
      fc.property(anyString, fc.integer({ min: 1, max: 15 }), (id, bits) => {
        const uri = encodeSessionUri(id)
        const payloadLength = uri.length - 'dsh-session:'.length
        // 2 characters past a group carry 4 spare bits, 3 carry 2.
        const spare = payloadLength % 4 === 2 ? 15 : payloadLength % 4 === 3 ? 3 : 0
        fc.pre((bits & spare) !== 0)
        const last = alphabet.indexOf(uri.at(-1) ?? '')
        const other = uri.slice(0, -1) + alphabet.charAt(last | (bits & spare))
        expect(orRefusal(() => decodeSessionUri(other))).toBe('refused')
      }),
      RUNS,
    )
  })
})

describe('mentions', () => {
  it('parse to the reference they were formatted from', () => {
    fc.assert(
      fc.property(anyString, anyString, (sessionId, label) => {
        expect(parseReferenceText(formatMention({ sessionId, label }))).toEqual({
          text: `@${label}`,
          references: [{ sessionId, label }],
        })
        expect(parseReferenceText(formatMention({ sessionId })).references).toEqual([{ sessionId, label: sessionId }])
      }),
      RUNS,
    )
  })

  it('parse side by side, with any text around that opens no other', () => {
    const between = anyString.map((text) => text.replaceAll('@', ''))
    const reference = fc.record({ sessionId: anyString, label: anyString })
    fc.assert(
      fc.property(fc.array(fc.tuple(between, reference), { maxLength: 4 }), between, (pairs, end) => {
        const text = pairs.map(([before, mentioned]) => before + formatMention(mentioned)).join('') + end
        expect(parseReferenceText(text)).toEqual({
          text: pairs.map(([before, { label }]) => `${before}@${label}`).join('') + end,
          references: pairs.map(([, mentioned]) => mentioned),
        })
      }),
      RUNS,
    )
  })

  it('parse as one regular expression would', () => {
    fc.assert(
      fc.property(mentionSoup, (text) => {
        expect(orRefusal(() => parseReferenceText(text))).toEqual(orRefusal(() => parseByRegex(text)))
      }),
      { numRuns: chosenOf(3000, 10_000) },
    )
  })

  it('refuse any text only as an invalid reference', () => {
    fc.assert(
      fc.property(fc.oneof(anyString, mentionSoup), (text) => {
        orRefusal(() => parseReferenceText(text))
      }),
      RUNS,
    )
  })
})
