// Session URIs, mentions, and the references found in a text.
import { describe, expect, it } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import {
  decodeSessionUri,
  encodeSessionUri,
  formatMention,
  parseReferenceText,
  type UriCheck,
} from '../../src/reference/uri.ts'

/** The refusal of a call; fails when there is none. */
function refusalOf(call: () => unknown): DshRefError {
  try {
    call()
  } catch (error) {
    if (error instanceof DshRefError) return error
    throw error
  }
  throw new Error('Nothing was refused')
}

/** The URI of a payload that no encoder wrote. */
function uriOf(payload: string | Uint8Array): string {
  return `dsh-session:${Buffer.from(payload as string).toString('base64url')}`
}

const A = encodeSessionUri('a')

describe('encodeSessionUri()', () => {
  it('writes the JSON of the id in base64url without padding', () => {
    expect(encodeSessionUri('abc')).toBe('dsh-session:ImFiYyI')
    expect(encodeSessionUri('>>>???ÿû')).toBe('dsh-session:Ij4-Pj8_P8O_w7si')
    expect(encodeSessionUri('')).toBe('dsh-session:IiI')
  })

  it('keeps lone surrogates apart from U+FFFD', () => {
    expect(new Set(['\ud800', '\udc00', '\ufffd'].map(encodeSessionUri)).size).toBe(3)
  })

  it('takes an id of a million characters', () => {
    const id = '界'.repeat(1_000_000)
    expect(decodeSessionUri(encodeSessionUri(id))).toBe(id)
  })
})

describe('decodeSessionUri()', () => {
  it('gives back ids of every kind', () => {
    for (const id of ['', 'abc', '../..', '会话', '🚀', 'a\ud800b', '\udc00\ud800', '\ufeffx', 'a\0b\n', '<&>"\\']) {
      expect(decodeSessionUri(encodeSessionUri(id))).toBe(id)
    }
  })

  const refused: readonly [UriCheck, string, string][] = [
    ['scheme', 'another scheme', 'https://example.test'],
    ['scheme', 'an upper-case scheme', 'DSH-SESSION:ImEi'],
    ['scheme', 'a blank before it', ' dsh-session:ImEi'],
    ['scheme', 'nothing at all', ''],
    ['alphabet', 'an empty payload', 'dsh-session:'],
    ['alphabet', 'a line feed after it', 'dsh-session:ImEi\n'],
    ['alphabet', 'padding', 'dsh-session:IiI='],
    ['alphabet', 'the standard alphabet', 'dsh-session:Ij4+Pj8/P8O/w7si'],
    ['alphabet', 'the scheme twice', 'dsh-session:dsh-session:ImEi'],
    ['utf8', 'a byte that is not UTF-8', uriOf(Uint8Array.of(0x22, 0xff, 0x22))],
    ['utf8', 'a surrogate encoded as such', uriOf(Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22))],
    ['json', 'text that is not JSON', uriOf('abc')],
    ['json', 'a byte order mark before the JSON', uriOf('\ufeff"a"')],
    ['json', 'a raw control character', uriOf('"a\nb"')],
    ['json', 'a payload cut short', 'dsh-session:ImFi'],
    ['string', 'a number', uriOf('12')],
    ['string', 'null', uriOf('null')],
    ['string', 'an object', uriOf('{"id":"x"}')],
    ['canonical', 'a blank in the JSON', uriOf(' "a"')],
    ['canonical', 'an escape nobody needs', uriOf('"a\\/b"')],
    ['canonical', 'an escape in upper case', uriOf('"\\uD800"')],
    ['canonical', 'a pair written as escapes', uriOf('"\\ud83d\\ude80"')],
    ['canonical', 'left-over bits', 'dsh-session:IiJ'],
    ['canonical', 'one character too many', `${A}A`],
  ]
  for (const [check, what, uri] of refused) {
    it(`refuses ${what} by the ${check} check`, () => {
      const refusal = refusalOf(() => decodeSessionUri(uri))
      expect(refusal.code).toBe('SESSION_REFERENCE_INVALID_REFERENCE')
      expect(refusal.facts).toEqual({ check, input: uri })
    })
  }

  it('names the input and what to do', () => {
    expect(refusalOf(() => decodeSessionUri('dsh-session:MTI')).message).toBe(
      'Session URI "dsh-session:MTI" holds JSON that is not a string; copy it again, or write it with "dsh-ref uri encode"',
    )
  })

  it('shortens a long input in the message and keeps it whole in the facts', () => {
    const uri = `dsh-session:${'A'.repeat(10_000)}!`
    const refusal = refusalOf(() => decodeSessionUri(uri))
    expect(refusal.message.length).toBeLessThan(300)
    expect(refusal.message).toContain('… (10013 characters)')
    expect(refusal.facts.input).toBe(uri)
  })

  it('never splits a pair where it shortens', () => {
    expect(refusalOf(() => decodeSessionUri('🚀'.repeat(1000))).message).toContain(`"${'🚀'.repeat(80)}"…`)
  })

  it('makes control, bidi and invisible characters and lone surrogates visible in the message', () => {
    const { message } = refusalOf(() => decodeSessionUri('\u001b[31m\u009b\u202e\u200b\ufeff\ud800\r\n'))
    expect(message).toContain('"\\u001b[31m\\u009b\\u202e\\u200b\\ufeff\\ud800\\r\\n"')
  })
})

describe('formatMention()', () => {
  it('escapes \\ and ] in the label and nothing else', () => {
    expect(formatMention({ sessionId: 'abc', label: 'a]b\\c[d\n' })).toBe('@[a\\]b\\\\c[d\n](dsh-session:ImFiYyI)')
  })

  it('takes the id for a label that is missing, not for one that is empty', () => {
    expect(formatMention({ sessionId: 'a]' })).toBe('@[a\\]](dsh-session:ImFdIg)')
    expect(formatMention({ sessionId: 'abc', label: '' })).toBe('@[](dsh-session:ImFiYyI)')
  })
})

describe('parseReferenceText()', () => {
  it('gives references in order of appearance, duplicates included, and the text without URIs', () => {
    const b = encodeSessionUri('b')
    expect(parseReferenceText(`See @[one](${A}), ${b}. Then @[two](${A})!`)).toEqual({
      text: 'See @one, @b. Then @two!',
      references: [
        { sessionId: 'a', label: 'one' },
        { sessionId: 'b', label: 'b' },
        { sessionId: 'a', label: 'two' },
      ],
    })
  })

  const ordinary = [
    '',
    'what is a dsh-session: URI?',
    'dsh-session:%%%',
    'DSH-SESSION:ImEi',
    '@[x](https://e.test)',
    '@[x',
    '@[x](dsh-session:',
    '@[x](dsh-session: )',
    '@[a\\](dsh-session:)',
  ]
  for (const text of ordinary) {
    it(`leaves ${JSON.stringify(text)} as it is`, () => {
      expect(parseReferenceText(text)).toEqual({ text, references: [] })
    })
  }

  const refused = [
    '@[x](dsh-session:)',
    `@[x](${A}/y)`,
    `@[x](${A}=)`,
    '@[x](dsh-session:not-canonical)',
    'dsh-session:IiJ',
    'dsh-session:dsh-session:ImEi',
    `@[x](dsh-session:@[y](${A})`,
  ]
  for (const text of refused) {
    it(`refuses ${JSON.stringify(text)}`, () => {
      expect(refusalOf(() => parseReferenceText(`ok ${A} ${text}`)).code).toBe('SESSION_REFERENCE_INVALID_REFERENCE')
    })
  }

  const found: readonly [string, string, string][] = [
    [`[x](${A})`, '[x](@a)', 'a'],
    [`@[a]b](${A})`, '@[a]b](@a)', 'a'],
    [`@[x](${A}`, '@[x](@a', 'a'],
    [`@[x](${A} )`, '@[x](@a )', 'a'],
    [`@[a\\](${A})`, '@[a\\](@a)', 'a'],
    [`@[x]@[y](${A})`, '@[x]@y', 'y'],
    [`@[x @[y](${A})`, '@x @[y', 'x @[y'],
    [`@[](${A})`, '@', ''],
    [`@[$1 $& $$](${A})`, '@$1 $& $$', '$1 $& $$'],
    [`@[a\\nb](${A})`, '@anb', 'anb'],
    [`@[a\nb](${A})`, '@a\nb', 'a\nb'],
    ...['\n', '\r', '\r\n', '\u2028', '\u2029'].map((end): [string, string, string] => [
      `@[a\\${end}b](${A})`,
      `@[a\\${end}b](@a)`,
      'a',
    ]),
    [`@[a\\\\\nb](${A})`, '@a\\\nb', 'a\\\nb'],
    [`@[x @[y\\\n@[z](${A})`, '@[x @[y\\\n@z', 'z'],
    [`${A}=`, '@a=', 'a'],
  ]
  for (const [text, written, label] of found) {
    it(`reads ${JSON.stringify(text)} as ${JSON.stringify(written)}`, () => {
      expect(parseReferenceText(text)).toEqual({ text: written, references: [{ sessionId: 'a', label }] })
    })
  }

  const MEGABYTE = 1_000_000
  const hostile: readonly [string, string][] = [
    ['openings', '@['],
    ['openings with escapes', '@[\\\\\\'],
    ['openings and one end', '@[\\]'],
    ['openings and line ends that are not escaped', '@[\\\n'],
    ['labels without a destination', '@[]'],
    ['destinations without an end', '@[](dsh-session:'],
    ['destinations that end in a blank', '@[](dsh-session: '],
    ['schemes', 'dsh-session: '],
    ['backslashes', '\\'],
    ['closings', ']('],
  ]
  for (const [what, piece] of hostile) {
    // Quadratic work on a megabyte takes minutes; linear work takes well below a second.
    it(`reads a megabyte of ${what} in linear time`, { timeout: 10_000 }, () => {
      const text = `@[${piece.repeat(Math.ceil(MEGABYTE / piece.length))}`
      const start = performance.now()
      try {
        parseReferenceText(text)
      } catch (error) {
        expect((error as DshRefError).code).toBe('SESSION_REFERENCE_INVALID_REFERENCE')
      }
      expect(performance.now() - start).toBeLessThan(3000)
    })
  }

  it('reads a megabyte of mentions in linear time', { timeout: 10_000 }, () => {
    const mention = `@[x](${A}) `
    const count = Math.ceil(MEGABYTE / mention.length)
    expect(parseReferenceText(mention.repeat(count)).references.length).toBe(count)
  })

  it('refuses a megabyte that is one URI in linear time', { timeout: 10_000 }, () => {
    expect(refusalOf(() => parseReferenceText(`dsh-session:${'-'.repeat(MEGABYTE)}`)).facts.check).toBe('utf8')
    expect(refusalOf(() => parseReferenceText('dsh-session:'.repeat(MEGABYTE / 10))).facts.input).toBe(
      'dsh-session:dsh-session',
    )
  })
})
