// The cases of list.json, and the order and titles of the artifacts: what the reference service lists.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import { type Candidate, listCandidates } from '../../src/list/candidates.ts'
import type { ListOptions } from '../../src/list/list-options.ts'
import { CONFORMANCE } from '../support/conformance.ts'
import { makeHome } from '../support/homes.ts'

interface Case {
  readonly name: string
  readonly input: {
    readonly sources: string[]
    readonly target: { readonly id: string; readonly cwd?: string }
    readonly query?: string
    readonly limit?: number
    readonly config?: { readonly candidateLimit?: number }
  }
  readonly expected: { readonly error?: string; readonly candidates?: Partial<Candidate>[] }
}

interface Artifact {
  readonly order: string[]
  readonly sessions: { readonly id: string; readonly title?: string | null; readonly refused?: string }[]
}

async function list({ sources, target, query, limit, config }: Case['input']) {
  const home = makeHome()
  try {
    for (const log of sources) home.write(log)
    const { id, cwd } = target
    const options: ListOptions = {
      roots: [home.root],
      target: { sessionId: id, ...(cwd !== undefined && { cwd }) },
      query,
      limit: limit ?? config?.candidateLimit,
    }
    return await listCandidates(options)
  } catch (error) {
    if (error instanceof DshRefError) return error
    throw error
  } finally {
    home.remove()
  }
}

function casesOf(file: string): Case[] {
  return CONFORMANCE ? JSON.parse(readFileSync(join(CONFORMANCE, 'cases', file), 'utf8')) : []
}

/** Keys of the service that a row has to have as the service has them; the label is left out where it is not comparable. */
function served({ sessionId, label, cwd, sameWorkspace, createdAt }: Candidate, keys: readonly string[]): object {
  const all = { sessionId, label, cwd, sameWorkspace, createdAt }
  return Object.fromEntries(Object.entries(all).filter(([key, value]) => value !== undefined && keys.includes(key)))
}

const SERVED = ['sessionId', 'label', 'cwd', 'createdAt']

describe.skipIf(!CONFORMANCE)('the list cases (skipped when ../shared/conformance is not there)', () => {
  const cases = casesOf('list.json')
  const isOverlay = ({ name }: Case) => name.includes('@overlay')

  /**
   * Where the service fails as a whole and this list must not. Its live target has another cwd than the stored header, or
   * a header has a key that was retired: one odd log would hide all the others.
   */
  const SERVICE_FAILS: Readonly<Record<string, { ids: string[]; issues: string[] }>> = {
    // The caller knows where the target works now; its stored header is not asked, since the target is left out anyway.
    'self-header-mismatch': { ids: ['none', 'other', 'same-later'], issues: [] },
    'retired-header-fails-whole-list': { ids: ['ok', 'ret'], issues: ['retired-key'] },
  }

  const plain = cases.filter((testCase) => !isOverlay(testCase))
  it.each(plain.map((c) => [c.name, c] as const))('list %s as the service does', async (name, { input, expected }) => {
    const outcome = await list(input)
    const exception = SERVICE_FAILS[name]
    if (exception) {
      if (outcome instanceof DshRefError) throw outcome
      expect(expected.error).toMatch(/^SESSION_QUERY_/)
      expect(outcome.candidates.map(({ sessionId }) => sessionId)).toEqual(exception.ids)
      expect(outcome.issues.map(({ kind }) => kind)).toEqual(exception.issues)
    } else if (expected.error !== undefined) {
      expect(outcome instanceof DshRefError ? outcome.code : outcome).toBe(expected.error)
    } else {
      if (outcome instanceof DshRefError) throw outcome
      expect(outcome.candidates.map((row) => served(row, SERVED))).toEqual(expected.candidates)
    }
  })

  // That engine knew no titles: its rows count where neither the query nor the label depends on one.
  const overlay = cases.filter(
    (testCase) => isOverlay(testCase) && !testCase.input.query && testCase.expected.candidates,
  )
  it.each(overlay.map((c) => [c.name, c] as const))(
    'rank %s and name its workspaces as the service does',
    async (_, c) => {
      const outcome = await list(c.input)
      if (outcome instanceof DshRefError) throw outcome
      const keys = ['sessionId', 'cwd', 'sameWorkspace', 'createdAt']
      const expected = c.expected.candidates?.map(({ label: _label, ...row }) => row)
      expect(outcome.candidates.map((row) => served(row, keys))).toEqual(expected)
    },
  )

  it.each(['raw', 'raw-unpacked', 'zstd', 'raw-damaged', 'zstd-damaged'])('list the artifacts of %s', async (tree) => {
    const root = join(CONFORMANCE ?? '', 'artifacts')
    const artifacts = JSON.parse(readFileSync(join(root, 'expected.json'), 'utf8')) as Record<string, Artifact>
    const { order, sessions } = artifacts[tree] as Artifact
    const { candidates, issues } = await listCandidates({ roots: [join(root, tree)] })
    expect(candidates.map(({ sessionId }) => sessionId)).toEqual(order)
    for (const { sessionId, label, title, health } of candidates) {
      const expected = sessions.find(({ id }) => id === sessionId)
      expect({ sessionId, label, title: title ?? null }).toEqual({
        sessionId,
        label: expected?.title ?? sessionId,
        title: expected?.title ?? null,
      })
      expect({ sessionId, isRefused: health === 'corrupt' }).toEqual({
        sessionId,
        isRefused: expected?.refused !== undefined,
      })
      expect(health).not.toBe('unread')
    }
    // What is not in the order has no header to list it by.
    const headerless = issues.filter(
      ({ kind, file }) => kind === 'corrupt-log' && !candidates.some(({ path }) => path === file),
    )
    expect(headerless.length).toBe(sessions.length - order.length)
  })

  afterAll(() => {
    process.stderr.write(`conformance: ${plain.length} list cases, ${overlay.length} of the engine without titles\n`)
    expect(plain.length).toBeGreaterThan(0)
  })
})
