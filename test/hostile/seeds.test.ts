// Case 11 of issue 5: sub-agents, forks and seeded logs. Inherited events count once; missing and surplus markers change
// neither surface nor text and are issues (FORMAT.md section 3.5).

import { describe, expect, test } from 'vitest'
import { project, readSurface } from '../../src/index.ts'
import { assistant, logOf, logOnly, type MadeRow, replacing, user } from '../support/rows.ts'

const VERSIONS = [0, 1, 2, 3, 4] as const
const checkpoint = (version: number) =>
  version === 4 ? { kind: 'compact-checkpoint' } : { kind: 'plugin', plugin: 'compact' }
const endSeed = (data: object = {}) => logOnly('session/end-seed', data)
const inherited = endSeed({ inherited: true })

async function read(version: number, rows: readonly MadeRow[], header: object) {
  async function* bytes() {
    yield Buffer.from(logOf(version, rows, { ...header }))
  }
  const surface = await readSurface({ kind: 'bytes', name: 'log', bytes: bytes(), encoding: 'raw' })
  return {
    texts: project(surface.messages).messages.map(({ text }) => text),
    capturedThroughSeq: surface.capturedThroughSeq,
    title: surface.title,
    issues: surface.issues.map(({ kind }) => kind),
  }
}

describe.each(VERSIONS)('in version %i', (version) => {
  const seeded = (count: number) =>
    version < 2 ? { seedLength: count, parentSession: 'parent' } : { isSeeded: true, parentSession: 'parent' }
  const marker = version < 2 ? endSeed() : inherited

  test('a fork holds what it inherited once, its title and what was compacted included', async () => {
    const title = logOnly('session/title', { title: 'of the parent', messageSeqs: [], source: { kind: 'user' } })
    const summary = user('S', replacing(version, 0, 1, [0, 1]), checkpoint(version))
    const rows = [user('a'), assistant('b'), summary, title, marker, user('own')]
    expect(await read(version, rows, seeded(4))).toEqual({
      texts: ['S', 'own'],
      capturedThroughSeq: 5,
      title: 'of the parent',
      issues: [],
    })
  })

  test('a sub-agent without anything of its own yet is its inheritance', async () => {
    const header = { ...seeded(1), origin: 'subagent', delegationDepth: 2 }
    expect(await read(version, [user('task'), marker], header)).toMatchObject({ texts: ['task'], issues: [] })
  })

  test('a later compaction may take the place of inherited and own messages together', async () => {
    const rows = [user('a'), marker, user('own'), user('S', replacing(version, 0, 2, [0, 2]), checkpoint(version))]
    expect(await read(version, rows, seeded(1))).toMatchObject({ texts: ['S'], issues: [] })
  })

  test('markers of resumed work are no marks of an inheritance', async () => {
    const header = version < 2 ? {} : { isSeeded: false }
    expect(await read(version, [user('a'), endSeed(), user('b'), endSeed()], header)).toMatchObject({
      texts: ['a', 'b'],
      issues: [],
    })
  })
})

describe.each([2, 3, 4] as const)('in version %i', (version) => {
  test.each([
    ['says seeded and has no marker', { isSeeded: true }, [user('a')]],
    ['says seeded and has a marker of resumed work only', { isSeeded: true }, [user('a'), endSeed()]],
    ['says not seeded and has a marker', { isSeeded: false }, [user('a'), inherited]],
  ])('a log that %s is read, with an issue', async (_what, header, rows) => {
    expect(await read(version, rows, header)).toMatchObject({ texts: ['a'], issues: ['seed-marker'] })
  })

  test('several markers of inheritance, of a fork of a fork, are read without an issue', async () => {
    const rows = [user('a'), inherited, user('b'), inherited, user('c')]
    expect(await read(version, rows, { isSeeded: true })).toMatchObject({ texts: ['a', 'b', 'c'], issues: [] })
  })

  test('an old seedLength is an issue and decides nothing', async () => {
    const header = { isSeeded: false, seedLength: 1 }
    expect(await read(version, [user('a')], header)).toMatchObject({ texts: ['a'], issues: ['extra-key'] })
  })
})

describe.each([0, 1] as const)('in version %i', (version) => {
  test.each([
    [0, []],
    [2, []],
    [3, ['seed-marker']],
    [-1, ['header-field']],
  ])('a header that counts %i inherited events of two is read', async (seedLength, issues) => {
    expect(await read(version, [user('a'), user('b')], { seedLength })).toMatchObject({ texts: ['a', 'b'], issues })
  })
})
