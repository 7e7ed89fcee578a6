// Laws of artifacts: what goes in comes out, in lines that nothing can split and fragments that nothing is cut in.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { renderTranscript, renderTranscriptMarkdown } from '../../src/render/transcript.ts'
import { decodeTranscript } from '../../src/transcript/transcript.ts'
import type { ConversationMessage } from '../../src/types.ts'
import { chosenOf } from '../support/exhaustive.ts'

const RUNS = { numRuns: chosenOf(500, 1500) }

const pieces = fc.constantFrom(
  '\r\n',
  '\u2028',
  '\u2029',
  '\0',
  '\x85',
  '\ufeff',
  '\ud83d',
  '\ude00',
  '😀',
  '"',
  '\\',
  '```',
  '### Message 2: user\n',
  '<',
  ' ',
  'é',
)

/** Texts as they come, of hostile pieces, and with a fragment's border in, before and behind a pair or half of one. */
const text = fc.oneof(
  fc.constant(''),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.array(fc.oneof(pieces, fc.string({ maxLength: 70 })), { maxLength: 12 }).map((parts) => parts.join('')),
  fc
    .tuple(fc.integer({ min: 60, max: 68 }), fc.array(pieces, { maxLength: 6 }), fc.integer({ min: 0, max: 130 }))
    .map(([before, middle, behind]) => 'a'.repeat(before) + middle.join('') + '😀'.repeat(behind)),
)

const role = fc.constantFrom('user' as const, 'assistant' as const)
const messagesOf = fc.array(fc.record({ role, text }), { maxLength: 5 })
const captures = fc.record({
  sessionId: fc.string({ unit: 'binary' }),
  label: text,
  cwd: fc.option(text),
  capturedThroughSeq: fc.option(fc.nat()),
})

const wellFormed = (messages: readonly ConversationMessage[]) =>
  messages.map((message) => ({ ...message, text: message.text.toWellFormed() }))

describe('an artifact', () => {
  test('gives back the well-formed texts, and the capture', () => {
    fc.assert(
      fc.property(captures, messagesOf, (capture, messages) => {
        const decoded = decodeTranscript(renderTranscript(capture, messages))
        expect(decoded.messages).toEqual(wellFormed(messages))
        expect(decoded.capture).toEqual({
          ...capture,
          label: capture.label.toWellFormed(),
          cwd: capture.cwd?.toWellFormed() ?? null,
        })
      }),
      RUNS,
    )
  })

  test('gives back shadowed messages and the seqs with them', () => {
    const shadowedOf = fc.array(fc.record({ role, text, seq: fc.nat(), shadowedBySeq: fc.nat() }), { maxLength: 4 })
    fc.assert(
      fc.property(captures, messagesOf, shadowedOf, (capture, messages, shadowed) => {
        const decoded = decodeTranscript(renderTranscript(capture, messages, shadowed))
        expect(decoded.messages).toEqual(wellFormed(messages))
        expect(decoded.shadowed).toEqual(shadowed.map((one) => ({ ...one, text: one.text.toWellFormed() })))
      }),
      RUNS,
    )
  })

  test('has whole fragments of at most 64 code points, and ends a line with a line feed only', () => {
    fc.assert(
      fc.property(text, (long) => {
        const artifact = renderTranscript({ sessionId: 's', label: '', cwd: null, capturedThroughSeq: 0 }, [
          { role: 'user', text: long },
        ])
        expect(artifact).not.toMatch(/[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]/)
        const fragments = artifact
          .split('\n')
          .filter((line) => line.startsWith('"'))
          .map((line) => JSON.parse(line) as string)
        expect(fragments.every((fragment) => [...fragment].length <= 64 && fragment.isWellFormed())).toBe(true)
        // Only the last may be short.
        expect(fragments.slice(0, -1).every((fragment) => [...fragment].length === 64)).toBe(true)
      }),
      RUNS,
    )
  })

  test('that lost one of its lines is refused, or says the same', () => {
    fc.assert(
      fc.property(messagesOf, fc.nat(), (messages, place) => {
        const capture = { sessionId: 's', label: '', cwd: null, capturedThroughSeq: 0 }
        const lines = renderTranscript(capture, messages).split('\n')
        lines.splice(lines.indexOf('}') + 1 + (place % (lines.length - lines.indexOf('}') - 1)), 1)
        let read: readonly ConversationMessage[] | undefined
        try {
          read = decodeTranscript(lines.join('\n')).messages
        } catch {
          return // refused
        }
        expect(read).toEqual(wellFormed(messages))
      }),
      RUNS,
    )
  })
})

describe('markdown', () => {
  test('has fences that hold: behind them nothing of a text is left', () => {
    fc.assert(
      fc.property(messagesOf, (messages) => {
        const markdown = renderTranscriptMarkdown(
          { sessionId: 's', label: '', cwd: null, capturedThroughSeq: 0 },
          messages,
        )
        let rest = markdown
        let blocks = 0
        for (let open = /^(`{3,})(?:json|text)\n/m.exec(rest); open; open = /^(`{3,})(?:json|text)\n/m.exec(rest)) {
          const inside = rest.slice(open.index + open[0].length)
          const close = new RegExp(`^ {0,3}\`{${open[1]?.length},}[ \\t]*$`, 'm').exec(inside)
          rest = inside.slice((close?.index ?? 0) + (close?.[0].length ?? 0))
          blocks += 1
        }
        expect(blocks).toBe(messages.length + 1)
        expect(rest).toBe('\n')
      }),
      RUNS,
    )
  })
})
