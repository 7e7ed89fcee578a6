// The cases of prepare.json with a place for transcripts: what the reference service saves, and what it says when it cannot.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { DshRefError, type Omission, type Prepared, prepare, type ReferenceInput } from '../../src/index.ts'
import { renderTranscript } from '../../src/render/transcript.ts'
import { spillTo } from '../../src/transcript/spill.ts'
import { decodeTranscript } from '../../src/transcript/transcript.ts'
import { CONFORMANCE } from '../support/conformance.ts'
import { makeHome } from '../support/homes.ts'

interface Saved {
  readonly capture: unknown
  readonly messages: readonly { readonly role: string; readonly fragments: readonly string[] }[]
}

interface Case {
  readonly name: string
  readonly input: {
    readonly target: { readonly id: string }
    readonly sources: readonly string[]
    readonly references: readonly ReferenceInput[]
    readonly config: object
    readonly content?: readonly { readonly text: string }[]
    readonly spill: 'none' | 'saved' | 'fail'
  }
  readonly expected: {
    readonly error?: string | null
    readonly content?: unknown
    readonly data?: unknown
    readonly source?: unknown
    readonly omissions?: unknown
    readonly transcripts?: readonly Saved[]
  }
}

interface Outcome {
  readonly result: Prepared | DshRefError
  /** The artifacts that an omission names, in order. */
  readonly artifacts: readonly string[]
  /** Files in the spill directory, named or not. */
  readonly files: number
}

async function run({ input }: Case): Promise<Outcome> {
  const home = makeHome()
  const place = makeHome()
  const directory = join(place.root, 'spill')
  // A file in the way makes every save fail.
  if (input.spill === 'fail') writeFileSync(directory, '')
  try {
    for (const log of input.sources) home.write(log)
    const message = (input.content ?? [{ text: 'go' }]).map(({ text }) => text).join('')
    const result = await prepare({
      message,
      target: input.target.id,
      references: input.references,
      roots: [home.root],
      ...input.config,
      spill: spillTo(directory, { render: renderTranscript }),
    }).catch((error: unknown) => {
      if (error instanceof DshRefError) return error
      throw error
    })
    const omissions = result instanceof DshRefError ? [] : result.omissions
    return {
      result,
      artifacts: omissions.flatMap(({ fullSnapshot }) =>
        fullSnapshot.status === 'saved' ? [readFileSync(fullSnapshot.locator, 'utf8')] : [],
      ),
      files: filesIn(directory),
    }
  } finally {
    home.remove()
    place.remove()
  }
}

function filesIn(directory: string): number {
  try {
    return readdirSync(directory, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.txt')).length
  } catch {
    return 0 // nothing was to be saved, or nothing could be
  }
}

/** Reads an artifact by its lines, with nothing of transcript.ts. */
function parse(artifact: string): Saved {
  const [head = '', ...sections] = artifact.split(/^### Message \d+: /m)
  return {
    capture: JSON.parse(/^\{\n[\s\S]*?\n\}$/m.exec(head)?.[0] ?? ''),
    messages: sections.map((section) => {
      const [role = '', ...lines] = section.split('\n')
      return { role, fragments: lines.filter((line) => line !== '').map((line) => JSON.parse(line) as string) }
    }),
  }
}

/** Locators by position, and without what every tool says in its own words. */
function comparable(omissions: readonly Omission[]) {
  return omissions.map(({ fullSnapshot, ...facts }) => {
    if (fullSnapshot.status !== 'saved') return { ...facts, fullSnapshot }
    const position = /-session-reference-(\d+)\.txt$/.exec(fullSnapshot.locator)?.[1]
    expect(fullSnapshot.bytes).toBeGreaterThan(0)
    expect(fullSnapshot.retrievalHint).not.toBe('')
    return { ...facts, fullSnapshot: { status: 'saved', locator: `{{locator:${position}}}` } }
  })
}

describe.skipIf(!CONFORMANCE)('the spill cases (skipped when ../shared/conformance is not there)', () => {
  const all: Case[] = CONFORMANCE ? JSON.parse(readFileSync(join(CONFORMANCE, 'cases', 'prepare.json'), 'utf8')) : []
  const cases = all.filter(({ input }) => input.spill !== 'none')
  let compared = 0

  test.each(cases.map((one) => [one.name, one] as const))('spill %s as the service does', async (name, one) => {
    const { result, artifacts, files } = await run(one)
    const { expected, input } = one
    if (name === 'rand-91') {
      // The service measures the lone surrogates of the label as escapes of 6 bytes and refuses; here each is a U+FFFD of 3
      // bytes before anything is measured (DESIGN.md, "Well-formed output"), which fits.
      expect(expected.error).toBe('SESSION_REFERENCE_BUDGET_EXCEEDED')
      if (result instanceof DshRefError) throw result
      expect(result.sources.map(({ budgetBytes, usedBytes }) => budgetBytes - usedBytes)).toEqual([3])
      expect(files).toBe(1)
      return
    }
    if (expected.error !== undefined) {
      expect(result instanceof DshRefError ? result.code : result).toBe(
        expected.error ?? 'SESSION_REFERENCE_INVALID_CONFIG',
      )
      expect(files).toBe(0)
      return
    }
    if (result instanceof DshRefError) throw result
    const [message] = result.additionalContext
    const text = message?.content[0]?.text ?? ''
    const json = /\n<referenced-sessions>\n(.*)\n<\/referenced-sessions>/s.exec(text)?.[1]
    const notice = /\n## Reference omissions\n\n.*\n\n(.*)$/s.exec(text)?.[1]
    expect({ content: result.content, data: JSON.parse(json ?? 'null'), source: message?.source }).toEqual({
      content: expected.content,
      data: expected.data,
      source: expected.source,
    })
    const omissions = notice === undefined ? null : comparable(JSON.parse(notice) as Omission[])
    expect(omissions).toEqual(expected.omissions ?? null)
    expect(files).toBe(artifacts.length)
    if (input.spill === 'fail') {
      expect(result.issues.filter(({ kind }) => kind === 'spill-failed')).toHaveLength(result.omissions.length)
    }
    const parsed = artifacts.map(parse)
    // The service keeps lone surrogates in what it saves; such cases say nothing of transcripts.
    if (expected.transcripts !== undefined) {
      expect(parsed).toEqual(expected.transcripts)
      compared += parsed.length
    }
    for (const [index, { capture, messages }] of parsed.entries()) {
      const joined = messages.map(({ role, fragments }) => ({ role, text: fragments.join('') }))
      expect(decodeTranscript(artifacts[index] as string)).toEqual({ capture, messages: joined })
    }
  })

  afterAll(() => {
    process.stderr.write(`conformance: ${cases.length} spill cases, ${compared} transcripts compared\n`)
  })

  test('are there, with transcripts to compare', () => {
    expect(cases.length).toBeGreaterThan(0)
    expect(compared).toBeGreaterThan(0)
  })
})
