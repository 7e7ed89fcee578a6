// Secrets are masked before anything is cut, counted or saved, by the library: at any budget no piece of one is left.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { prepare, type RedactSource, redact, renderTranscript } from '../../src/index.ts'
import type { Capture } from '../../src/prepare/capture.ts'
import type { Home } from '../support/homes.ts'
import { LEAKY, leaksIn, makeLeakyHome, PLACEHOLDER, SECRET } from '../support/leaky-home.ts'

let home: Home
beforeAll(() => {
  home = makeLeakyHome()
})
afterAll(() => home.remove())

const request = () => ({ message: 'go on', references: [{ sessionId: LEAKY }], roots: [home.root] })

describe('prepare with redact', () => {
  test('leaves no piece of a secret at any of 200 budgets', async () => {
    let truncated = 0
    for (let maxReferenceBytes = 300; maxReferenceBytes < 1700; maxReferenceBytes += 7) {
      const saved: string[] = []
      const prepared = await prepare({
        ...request(),
        maxReferenceBytes,
        redact: true,
        spill: async ({ capture, messages }) => {
          saved.push(renderTranscript(capture, messages))
          return { status: 'saved', locator: 'somewhere', bytes: 1, retrievalHint: 'read it' }
        },
      })
      expect({ maxReferenceBytes, leaks: leaksIn(JSON.stringify(prepared) + saved.join('')) }).toEqual({
        maxReferenceBytes,
        leaks: [],
      })
      const [facts] = prepared.additionalContext[0]?.source.references ?? []
      if (facts?.truncated) truncated++
      expect(saved.length).toBe(facts?.truncated ? 1 : 0)
    }
    expect(truncated).toBe(200)
  })

  test('counts what is masked in title, directory and the conversation, whatever the budget leaves out', async () => {
    // Title, directory, checkpoint, user, and twice the assistant; what is shadowed or of a tool is not captured.
    const byKind = { 'github-token': 6 }
    for (const maxReferenceBytes of [400, 65_536]) {
      const { redacted } = await prepare({ ...request(), maxReferenceBytes, redact: true })
      expect(redacted).toEqual({ total: 6, byKind })
    }
  })

  test('counts omitted bytes of the masked text', async () => {
    const masked = `${'a'.repeat(700)} ${PLACEHOLDER} ${'b'.repeat(700)}`
    const { sources } = await prepare({ ...request(), maxReferenceBytes: 900, redact: true })
    const [source] = sources
    const omitted = source?.facts.omittedBytes ?? 0
    expect(source?.facts.omittedMessages).toBe(1)
    expect(omitted).toBe(Buffer.byteLength(masked))
  })

  test('says in the message how many were masked, and without a find says nothing', async () => {
    const textOf = ({ additionalContext }: Awaited<ReturnType<typeof prepare>>) =>
      additionalContext[0]?.content[0]?.text ?? ''
    expect(textOf(await prepare({ ...request(), redact: true }))).toMatch(
      /\n\n## Reference omissions\n\n6 secrets were masked as \[redacted:<kind>\] before anything was left out; [^\n]*$/,
    )
    const clean = await redactionsOf('nothing to see')
    expect(clean.redacted).toEqual({ total: 0, byKind: {} })
    expect(textOf(clean)).not.toContain('omissions')
  })

  test('leaves what the user wrote: the message and the label of a mention', async () => {
    const message = `use ${SECRET} as in @[my ${SECRET}](dsh-session:${Buffer.from(JSON.stringify(LEAKY)).toString('base64url')})`
    const { content, sources } = await prepare({ message, roots: [home.root], redact: true })
    expect(content[0]?.text).toBe(`use ${SECRET} as in @my ${SECRET}`)
    expect(sources[0]?.data.label).toBe(`my ${SECRET}`)
    expect(sources[0]?.data.cwd).toBe(`/work/${PLACEHOLDER}/app`)
  })

  test('refuses a value of another type, which may have been meant as yes', async () => {
    const untyped = { ...request(), redact: 'yes' } as unknown as Parameters<typeof prepare>[0]
    await expect(prepare(untyped)).rejects.toMatchObject({ code: 'SESSION_REFERENCE_INVALID_CONFIG' })
  })
})

describe('prepare with failOnSecrets', () => {
  test.each([{ redact: true }, {}])('refuses before anything is saved, with %o', async (also) => {
    let saves = 0
    const spill = async () => {
      saves++
      return { status: 'saved', locator: 'x', bytes: 1, retrievalHint: '' } as const
    }
    const refused = prepare({ ...request(), maxReferenceBytes: 400, failOnSecrets: true, spill, ...also })
    await expect(refused).rejects.toMatchObject({
      code: 'SESSION_REFERENCE_SECRETS_FOUND',
      facts: { total: 6, byKind: { 'github-token': 6 } },
    })
    expect(saves).toBe(0)
  })

  test('finds one that the budget would have left out, among texts that are else only counted', async () => {
    const refused = prepare({ ...request(), maxReferenceBytes: 300, failOnSecrets: true })
    await expect(refused).rejects.toMatchObject({ facts: { total: 6 } })
  })

  test('changes nothing of a session without any', async () => {
    const source = surfaceWith('nothing to see')
    const plain = await prepare({ message: '', references: [{ surface: source }], roots: [] })
    const { redacted, ...checked } = await prepare({
      message: '',
      references: [{ surface: source }],
      roots: [],
      failOnSecrets: true,
    })
    expect(checked).toEqual(plain)
    expect(redacted).toEqual({ total: 0, byKind: {} })
  })
})

describe('a scanner that throws', () => {
  test.each([{ redact: true }, { failOnSecrets: true }])('refuses, with %o, and is not quoted', async (asked) => {
    const scanner = () => {
      throw new Error(`cannot read ${SECRET}`)
    }
    const refused = prepare({ ...request(), ...asked, scanner })
    const error = await refused.catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'SESSION_REFERENCE_SCAN_FAILED', facts: {} })
    expect(leaksIn((error as Error).message)).toEqual([])
  })
})

describe('redact', () => {
  const source: RedactSource = {
    label: `a ${SECRET}`,
    cwd: `/x/${SECRET}`,
    messages: [{ seq: 0, role: 'user', text: `it is ${SECRET}`, checkpoint: false }],
    issues: [{ kind: 'extra-key', message: `The row has a key ${SECRET}` }],
  }

  test('masks text, label, directory and issues, and counts what is no issue', async () => {
    expect(await redact(source)).toEqual({
      capture: {
        label: `a ${PLACEHOLDER}`,
        cwd: `/x/${PLACEHOLDER}`,
        messages: [{ seq: 0, role: 'user', text: `it is ${PLACEHOLDER}`, checkpoint: false }],
        issues: [{ kind: 'extra-key', message: `The row has a key ${PLACEHOLDER}` }],
      },
      redacted: { total: 3, byKind: { 'github-token': 3 } },
    })
  })

  test('changes nothing the second time', async () => {
    const once = await redact(source)
    expect(await redact(once.capture)).toEqual({ capture: once.capture, redacted: { total: 0, byKind: {} } })
  })

  test('keeps the exact id, and refuses texts that were only counted', async () => {
    const capture: Capture = {
      ...source,
      sessionId: SECRET,
      capturedThroughSeq: 0,
      formatVersion: 0,
      messages: [],
    }
    expect((await redact(capture)).capture.sessionId).toBe(SECRET)
    const counted = [{ seq: 3, role: 'user', text: '', checkpoint: false, textBytes: 9 } as const]
    await expect(redact({ ...capture, messages: counted })).rejects.toThrow('message 3 was only counted')
  })
})

function surfaceWith(text: string) {
  const message = { seq: 0, type: 'user/message', role: 'user', sourceKind: 'user', checkpoint: false, text } as const
  return {
    header: { version: 0, id: 'made', createdAt: 1, cwd: '/x' },
    formatVersion: 0,
    capturedThroughSeq: 0,
    nodes: [0],
    replacements: [],
    messages: [message],
    shadowed: [],
    title: undefined,
    contextWindow: undefined,
    issues: [],
  } as unknown as Extract<
    NonNullable<Parameters<typeof prepare>[0]['references']>[number],
    { surface: unknown }
  >['surface']
}

function redactionsOf(text: string) {
  return prepare({ message: '', references: [{ surface: surfaceWith(text) }], roots: [], redact: true })
}
