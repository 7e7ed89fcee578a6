// Artifacts read back: the exact texts, whoever wrote the prose around them, and damage that is named by its line.
import { describe, expect, test } from 'vitest'
import type { DshRefError } from '../../src/errors.ts'
import { renderTranscript } from '../../src/render/transcript.ts'
import { captureOf, decodeTranscript, searchTranscript } from '../../src/transcript/transcript.ts'
import type { ConversationMessage } from '../../src/types.ts'

const capture = { sessionId: 's', label: 'Work', cwd: '/w', capturedThroughSeq: 7, capturedFormatVersion: 4 }
const messages: ConversationMessage[] = [
  { role: 'user', text: 'Question' },
  { role: 'assistant', text: 'Answer\r\n'.repeat(20) },
]
const artifact = renderTranscript(capture, messages)

/** An artifact in other words than this tool's, without counts. */
const foreign = `# Session log excerpt

"Quoted" prose may stand anywhere above.

### How to read

{
  "sessionId": "a/b",
  "label": "x",
  "cwd": null,
  "capturedThroughSeq": null
}

Parse and join the lines.

### Message 1: user

"one "
"line"

### Message 2: assistant
"\\u2028"
`

function refusal(text: string, name?: string): Pick<DshRefError, 'message' | 'facts'> {
  try {
    decodeTranscript(text, name)
  } catch (error) {
    expect(error).toMatchObject({ code: 'SESSION_REFERENCE_READ_FAILED', reason: 'corrupt' })
    return error as DshRefError
  }
  throw new Error('The artifact was taken')
}

const lineOf = (text: string, start: string) => text.split('\n').findIndex((line) => line.startsWith(start)) + 1

describe('an artifact', () => {
  test('gives capture and exact texts back', () => {
    expect(decodeTranscript(artifact)).toEqual({ capture, messages })
  })

  test('gives shadowed messages back, an empty section included', () => {
    const shadowed = [{ role: 'user', text: 'old', seq: 2, shadowedBySeq: 9 }] as const
    expect(decodeTranscript(renderTranscript(capture, messages, shadowed))).toEqual({ capture, messages, shadowed })
    expect(decodeTranscript(renderTranscript(capture, messages, []))).toEqual({ capture, messages, shadowed: [] })
  })

  test('may be empty', () => {
    expect(decodeTranscript(renderTranscript(capture, []))).toEqual({ capture, messages: [] })
  })

  test('of the service, with other prose and no counts, is read as well', () => {
    expect(decodeTranscript(foreign)).toEqual({
      capture: { sessionId: 'a/b', label: 'x', cwd: null, capturedThroughSeq: null },
      messages: [
        { role: 'user', text: 'one line' },
        { role: 'assistant', text: '\u2028' },
      ],
    })
  })

  test('may have the capture record on one line, or indented, or in a fence', () => {
    const record = JSON.stringify(capture)
    for (const block of [record, `    ${record}`, `\`\`\`json\n${JSON.stringify(capture, null, 4)}\n\`\`\``]) {
      expect(decodeTranscript(`# X\n\n${block}\n\n### Message 1: user\n\n"a"\n`).capture).toEqual(capture)
    }
  })

  test('survives a byte order mark, CRLF and a missing last line feed', () => {
    expect(decodeTranscript(`\ufeff${artifact.replaceAll('\n', '\r\n')}`)).toEqual({ capture, messages })
    expect(decodeTranscript(artifact.trimEnd())).toEqual({ capture, messages })
  })

  test('gives its capture from its beginning alone', () => {
    expect(captureOf(artifact.slice(0, artifact.indexOf('### ')))).toEqual(capture)
    expect(captureOf(artifact.slice(0, 100))).toBeUndefined()
    expect(captureOf('')).toBeUndefined()
  })
})

describe('a damaged artifact', () => {
  test.each([
    ['a cut fragment', (text: string) => text.slice(0, -3), '"nswer', /fragment is not one whole JSON string/],
    ['a lost heading', (text: string) => text.replace('### Message 1: user', ''), '"Question"', /before the first/],
    [
      'a heading of another number',
      (text: string) => text.replace('Message 2', 'Message 3'),
      '### Message 3',
      /message 2/,
    ],
    ['an unknown role', (text: string) => text.replace(': assistant', ': tool'), '### Message 2', /message 2/],
    ['a lost fragment', (text: string) => text.replace('"Question"\n', ''), '### Message 1', /no fragment/],
    ['a stray line', (text: string) => text.replace('"Question"', '"Question"\nQuestion'), 'Question', /neither/],
    [
      'a heading of lower rank',
      (text: string) => text.replace('### Message 2', '## Message 2'),
      '## Message 2',
      /neither/,
    ],
    ['a capture record that is no JSON', (text: string) => text.replace('"cwd":', 'cwd:'), '{', /not JSON/],
    ['a capture record without an id', (text: string) => text.replace('"sessionId"', '"id"'), '{', /lacks/],
    ['a seq that is none', (text: string) => text.replace(': 7,', ': -7,'), '{', /wrong type/],
    ['a capture record without an end', (text: string) => text.replace('\n}', ''), '{', /not JSON/],
  ])('with %s is refused, and the line is named', (_, damage, start, reason) => {
    const damagedText = damage(artifact)
    const { message, facts } = refusal(damagedText, 'saved.txt')
    // The cut fragment is the last line.
    const line = start === '"nswer' ? damagedText.split('\n').length : lineOf(damagedText, start)
    expect(facts.line).toBe(line)
    expect(message).toMatch(reason)
    expect(message).toContain(`saved.txt is damaged at line ${line}`)
  })

  test('cut between two lines is refused, wherever the cut is', () => {
    const lines = artifact.split('\n')
    for (let kept = 0; kept < lines.length - 1; kept++) refusal(lines.slice(0, kept).join('\n'))
  })

  test('with a message lost from the middle of the service is refused', () => {
    expect(refusal(foreign.replace(/### Message 1[^#]*/, '')).message).toMatch(/message 1/)
    expect(refusal(foreign.slice(0, foreign.indexOf('### Message'))).message).toMatch(/there is no message/)
  })

  test('that is no transcript at all says so', () => {
    expect(refusal('hello\n').message).toMatch(/no transcript of a session/)
    expect(refusal('').message).toMatch(/no transcript of a session/)
  })
})

describe('searching', () => {
  test('finds what crosses fragments, lines and escapes', () => {
    const text = `${'x'.repeat(60)}needle "in"\ta\nhaystack`
    const [decoded] = decodeTranscript(renderTranscript(capture, [{ role: 'user', text }])).messages
    const found = [...searchTranscript([decoded as ConversationMessage], /needle "in"\ta\nhay/g)]
    expect(found).toEqual([{ message: 1, start: 60, end: 77 }])
  })

  test('numbers messages from 1 and finds every place', () => {
    expect([...searchTranscript(messages, /Answer|Quest/g)]).toHaveLength(21)
    expect([...searchTranscript(messages, /Quest/g)]).toEqual([{ message: 1, start: 0, end: 5 }])
  })
})
