// The list of sessions over real directories: what is opened and read for it, what is skipped and said, what is chosen.

import {
  appendFileSync,
  chmodSync,
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { LogEncoding } from '../../src/decode/decode.ts'
import { readTitle, type TitleReading } from '../../src/fold/surface.ts'
import { type CandidateList, listCandidates } from '../../src/list/candidates.ts'
import type { ListOptions } from '../../src/list/list-options.ts'
import { openTitleIndex } from '../../src/list/title-index.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { makeLog, randomShape } from '../support/log-maker.ts'
import { assistant, logOf, logOnly, type MadeRow, replacing, user } from '../support/rows.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

let home: Home
let cache: string

beforeEach(() => {
  home = makeHome()
  cache = mkdtempSync(join(tmpdir(), 'dsh-ref-cache-'))
})

afterEach(() => {
  home.remove()
  rmSync(cache, { recursive: true, force: true })
})

const title = (text: string): MadeRow =>
  logOnly('session/title', { title: text, messageSeqs: [], source: { kind: 'user' } })
const end = (): MadeRow => logOnly('turn/end', { turn: 1, reason: { kind: 'completed' } })

/** A session that is in order. */
function session(
  id: string,
  more: { title?: string; version?: number; header?: object; rows?: MadeRow[] } = {},
): string {
  const { version = 4, header = {}, rows = [user('hello')] } = more
  return logOf(version, [...rows, ...(more.title === undefined ? [] : [title(more.title)])], { id, ...header })
}

/** A log as zstd: the header in a frame of its own, then the rows in the frames asked for. */
function compressed(log: string, ...cuts: number[]): Buffer {
  const lines = log.split(/(?<=\n)/)
  const bounds = [0, 1, ...cuts, lines.length]
  const frames = bounds.slice(1).map((bound, index) => lines.slice(bounds[index], bound).join(''))
  return Buffer.concat(frames.filter((frame) => frame !== '').map((frame) => writeFrame(rawBlocks(frame))))
}

const list = (options: Partial<ListOptions> = {}) => listCandidates({ roots: [home.root], ...options })

/** A list as the command makes it: with the index of the cache directory, opened anew. */
const listWithIndex = (options: Partial<ListOptions> = {}) =>
  list({ index: openTitleIndex(cache, [home.root]), ...options })

const ids = ({ candidates }: CandidateList) => candidates.map(({ sessionId }) => sessionId)
const kinds = ({ issues }: CandidateList) => issues.map(({ kind }) => kind).sort()

/** Makes all directories so old that what is in them is known by their time. */
function settle(): void {
  const hourAgo = new Date(Date.now() - 3_600_000)
  for (const project of readdirSync(home.root)) {
    for (const name of readdirSync(join(home.root, project)))
      utimesSync(join(home.root, project, name), hourAgo, hourAgo)
  }
}

describe('a list reads', () => {
  test.each(chosenOf([3, 100, 1000], [3, 100, 5000]))(
    'of %i sessions one header each, and what it shows once',
    { timeout: 300_000 },
    async (count) => {
      const byNumber = (at: number) => `s-${String(at).padStart(4, '0')}`
      for (let at = 0; at < count; at++) {
        const log = session(byNumber(at), {
          title: `Title ${at}`,
          header: { createdAt: 1000 + at, cwd: `/work/${at % 7}` },
        })
        if (at % 3 === 0)
          home.write(compressed(log), {
            suffix: '.zstd',
            project: `p${at % 7}`,
            session: byNumber(at),
            name: 'session.v4.jsonl.zstd',
          })
        else home.write(log)
      }
      const shown = Math.min(count, 50)
      const cold = await listWithIndex()
      expect(cold.sessions).toBe(count)
      expect(cold.candidates.map(({ label }) => label)).toEqual(
        Array.from({ length: shown }, (_, at) => `Title ${count - 1 - at}`),
      )
      expect(cold.work.filesOpened).toBe(count + shown)
      expect(cold.work.bytesRead).toBeLessThan(count * 2048 + shown * 2048)

      const warm = await listWithIndex()
      expect(warm.work).toEqual({ filesOpened: 0, bytesRead: 0 })
      expect(warm.candidates).toEqual(cold.candidates)
      expect(warm.issues).toEqual(cold.issues)

      settle()
      expect((await listWithIndex()).work.filesOpened).toBe(0)
      const settled = await listWithIndex()
      expect(settled.work.filesOpened).toBe(0)
      expect(settled.candidates).toEqual(cold.candidates)

      // A query needs the titles of all, once.
      const query = await listWithIndex({ query: 'no such title' })
      expect(query.work.filesOpened).toBe(count - shown)
      expect((await listWithIndex({ query: 'TITLE 1', limit: 2 })).work.filesOpened).toBe(0)
    },
  )

  test('nothing whole when only headers are asked for', async () => {
    for (const id of ['a', 'b', 'c']) home.write(session(id, { title: 'T' }))
    const { candidates, work } = await list({ depth: 'headers' })
    expect(work.filesOpened).toBe(3)
    expect(candidates.map(({ label, health }) => [label, health])).toEqual([
      ['a', 'unread'],
      ['b', 'unread'],
      ['c', 'unread'],
    ])
  })

  test('the same of logs it has seen no more than the headers of, without opening them again', async () => {
    const header = { origin: 'subagent', parentSession: 'plain', delegationDepth: 1 }
    home.write(session('plain', { header: { createdAt: 1 } }))
    home.write(session('child', { header: { ...header, createdAt: 2 } }))
    home.write(session('odd', { header: { ...header, createdAt: 3, origin: 'elsewhere', cwd: '/work/用户' } }))
    home.write(session('lost', { header: { ...header, createdAt: 4 } }), { project: 'elsewhere' })
    const expected = await list({ depth: 'headers' })
    expect(
      expected.candidates.map(({ sessionId, origin, parentSession }) => [sessionId, origin, parentSession]),
    ).toEqual([
      ['lost', 'subagent', 'plain'],
      ['odd', 'elsewhere', 'plain'],
      ['child', 'subagent', 'plain'],
      ['plain', undefined, undefined],
    ])
    expect(expected.candidates.map(({ issues }) => issues.length)).toEqual([1, 1, 0, 0])
    await listWithIndex({ depth: 'headers' })
    settle()
    await listWithIndex({ depth: 'headers' })
    const known = await listWithIndex({ depth: 'headers' })
    expect(known.work.filesOpened).toBe(0)
    expect(known.candidates).toEqual(expected.candidates)
    expect(known.issues).toEqual(expected.issues)
    // And read whole it is what a list without memory makes of it.
    expect((await listWithIndex()).candidates).toEqual((await list()).candidates)
  })

  test('no titles that a query does not need', async () => {
    for (const id of ['apple', 'banana', 'cherry']) home.write(session(id, { title: 'T' }))
    const { candidates, work } = await list({ query: 'AN', depth: 'headers' })
    expect(candidates.map(({ sessionId }) => sessionId)).toEqual(['banana'])
    // Three headers, and the two logs whose id does not match already.
    expect(work.filesOpened).toBe(5)
  })

  test('no more logs than it takes to fill the limit', async () => {
    for (let at = 0; at < 300; at++) home.write(session(`s${at}`, { title: 'same', header: { createdAt: at } }))
    const { candidates, work } = await list({ query: 'SAME', limit: 1 })
    expect(candidates).toHaveLength(1)
    expect(work.filesOpened).toBeLessThan(300 + 100)
  })

  test('of a log that has grown only what was added', async () => {
    const long = Array.from({ length: 200 }, (_, at) => user(`message ${at} ${'x'.repeat(200)}`))
    const log = session('grows', { title: 'first', rows: long })
    const path = home.write(log)
    home.write(session('stays', { title: 'other' }))
    await listWithIndex()
    const more = session('grows', { rows: [...long, title('first'), user('more'), title('second')] }).slice(log.length)
    appendFileSync(path, more)
    const { candidates, work } = await listWithIndex()
    expect(candidates.map(({ label, updatedAt }) => [label, updatedAt])).toEqual([
      ['second', 2202],
      ['other', 2001],
    ])
    // Its header and the added rows.
    expect(work.filesOpened).toBe(2)
    expect(work.bytesRead).toBeLessThanOrEqual(2048 + more.length)
    expect((await listWithIndex()).work.filesOpened).toBe(0)
  })

  test('a log anew when it was written over, put in the place of another, or cut', async () => {
    const path = home.write(session('a', { title: 'one' }))
    const label = async () => (await listWithIndex()).candidates[0]?.label
    expect(await label()).toBe('one')
    // Longer, in the same file, but not what it was with something added.
    writeFileSync(path, session('a', { rows: [user('another beginning'), user('and more')], title: 'two' }))
    expect(await label()).toBe('two')
    // The same length, at another time.
    writeFileSync(path, session('a', { rows: [user('another beginning'), user('and more')], title: 'six' }))
    expect(await label()).toBe('six')
    writeFileSync(`${path}.new`, session('a', { rows: [user('another beginning'), user('and more')], title: 'ten' }))
    renameSync(`${path}.new`, path)
    expect(await label()).toBe('ten')
    truncateSync(path, statSync(path).size - 10)
    expect(await label()).toBe('a')
  })

  test('the newest generation as soon as there is one, in a directory it knows', async () => {
    const path = home.write(session('a', { version: 3, title: 'old' }))
    await listWithIndex()
    settle()
    await listWithIndex()
    writeFileSync(join(dirname(path), 'session.v4.jsonl'), session('a', { title: 'new' }))
    const { candidates } = await listWithIndex()
    expect(candidates.map(({ label, formatVersion }) => [label, formatVersion])).toEqual([['new', 4]])
    rmSync(join(dirname(path), 'session.v4.jsonl'))
    expect((await listWithIndex()).candidates.map(({ label }) => label)).toEqual(['old'])
    rmSync(dirname(path), { recursive: true })
    expect((await listWithIndex()).candidates).toEqual([])
  })

  test('a header again when a whole log could not be', async () => {
    home.write(session('a', { title: 'one' }))
    const index = openTitleIndex(cache, [home.root])
    await list({ index, allowUnknownVersion: true })
    await list({ index, limits: { maxRowBytes: 1024 } })
    // Neither of the two is remembered, since both may read a log differently.
    expect(index?.size).toBe(0)
  })

  test('the same with a damaged cache as without one, and mends it', async () => {
    for (const id of ['a', 'b']) home.write(session(id, { title: `Title of ${id}` }))
    const expected = await list()
    await listWithIndex()
    const [name] = readdirSync(cache) as [string]
    const { size } = statSync(join(cache, name))
    for (const at of [0, 40, 100, size - 3]) {
      const descriptor = openSync(join(cache, name), 'r+')
      writeSync(descriptor, '#', at)
      closeSync(descriptor)
      expect((await listWithIndex()).candidates).toEqual(expected.candidates)
      expect((await listWithIndex()).work.filesOpened).toBe(0)
    }
  })

  test('and leaves everything under the root as it was', async () => {
    home.write(session('a', { title: 'T' }))
    home.write('not a header\n', { project: 'p', session: 'broken', name: 'session.jsonl' })
    const state = () =>
      (readdirSync(home.root, { recursive: true }) as string[]).sort().map((name) => {
        const { ino, size, mtimeNs, ctimeNs } = statSync(join(home.root, name), { bigint: true })
        return [name, ino, size, mtimeNs, ctimeNs]
      })
    const before = state()
    await listWithIndex({ query: 'x', sort: 'title', health: 'ok' })
    expect(() => openTitleIndex(join(home.root, 'cache'), [home.root])).toThrow(/lies in the sessions root/)
    expect(state()).toEqual(before)
  })

  test('the same at the same time in several lists', async () => {
    for (let at = 0; at < 40; at++) home.write(session(`s${at}`, { title: `T${at}`, header: { createdAt: at } }))
    const all = await Promise.all(Array.from({ length: 6 }, () => listWithIndex()))
    for (const one of all) expect(one.candidates).toEqual(all[0]?.candidates)
    expect((await listWithIndex()).work.filesOpened).toBe(0)
  })
})

describe('reading on', () => {
  /** What must come out the same, however it was read. */
  const outcome = ({ work: _work, resume: _resume, resumePoint: _point, ...facts }: TitleReading) => facts

  async function readAs(path: string, encoding: LogEncoding, earlier?: TitleReading): Promise<TitleReading | string> {
    const from = earlier?.resume && { header: earlier.header, resume: JSON.parse(JSON.stringify(earlier.resume)) }
    try {
      return await readTitle({ kind: 'file', path, encoding }, {}, from)
    } catch (error) {
      return (error as Error).message
    }
  }

  const versions = [0, 1, 2, 3, 4] as const

  test.each(versions.flatMap((version) => chosenOf([1, 2], [1, 2, 3, 4]).map((seed) => [version, seed] as const)))(
    'gives what reading at once gives, wherever a raw log of version %i ended before (seed %i)',
    async (version, seed) => {
      const log = makeLog(seed * 7 + version, { ...randomShape(seed * 7 + version, version), titles: 3 }).text()
      const path = home.write(log, { project: 'p', session: 's' })
      const whole = (await readAs(path, 'raw')) as TitleReading
      const step = Math.max(1, Math.floor(log.length / chosenOf(16, 40)))
      for (let cut = log.indexOf(0x0a) + 1; cut < log.length; cut += step) {
        writeFileSync(path, log.subarray(0, cut))
        const before = await readAs(path, 'raw')
        writeFileSync(path, log)
        if (typeof before === 'string') continue // a cut inside a fold is refused, and nothing is remembered of it
        const after = await readAs(path, 'raw', before)
        expect(typeof after === 'string' ? after : outcome(after)).toEqual(outcome(whole))
        expect(typeof after === 'string' ? after : after.resume).toEqual(whole.resume)
      }
    },
  )

  test.each(versions.flatMap((version) => [1, 2].map((seed) => [version, seed] as const)))(
    'gives what reading at once gives, wherever a zstd log of version %i ended before (seed %i)',
    async (version, seed) => {
      const made = makeLog(seed * 5 + version, { ...randomShape(seed * 5 + version, version), titles: 3 })
      const log = Buffer.concat(made.frames().map((frame) => writeFrame(rawBlocks(frame, 500))))
      const path = home.write(log, { project: 'p', session: 's', name: 'session.jsonl.zstd' })
      const whole = (await readAs(path, 'zstd')) as TitleReading
      const step = Math.max(1, Math.floor(log.length / chosenOf(16, 40)))
      for (let cut = 600; cut < log.length; cut += step) {
        writeFileSync(path, log.subarray(0, cut))
        const before = await readAs(path, 'zstd')
        writeFileSync(path, log)
        if (typeof before === 'string') continue
        const after = await readAs(path, 'zstd', before)
        expect(typeof after === 'string' ? after : outcome(after)).toEqual(outcome(whole))
        expect(typeof after === 'string' ? after : after.resume).toEqual(whole.resume)
      }
    },
  )

  test('reads less, unless a replacement reaches back', async () => {
    const rows = [user('one'), assistant('two'), title('T')]
    const path = home.write(session('a', { rows }))
    const first = (await readAs(path, 'raw')) as TitleReading
    const appended = session('a', { rows: [...rows, user('three')] })
    writeFileSync(path, appended)
    const second = (await readAs(path, 'raw', first)) as TitleReading
    expect(second).toMatchObject({ title: 'T', capturedThroughSeq: 3 })
    expect(second.work.bytesRead).toBe(appended.length - session('a', { rows }).length)
    const replaced = session('a', { rows: [...rows, user('three'), user('all', replacing(4, 0, 3, [[0, 3]]))] })
    writeFileSync(path, replaced)
    const third = (await readAs(path, 'raw', second)) as TitleReading
    expect(third).toMatchObject({ title: 'T', capturedThroughSeq: 4 })
    expect(third.work.bytesRead).toBe(replaced.length)
  })

  test('keeps the count of issues met before', async () => {
    const rows = [user('one', { odd: 1 }), logOnly('no/such', {}), user('two', { odd: 2 })]
    const path = home.write(session('a', { rows: rows.slice(0, 2) }))
    const first = (await readAs(path, 'raw')) as TitleReading
    writeFileSync(path, session('a', { rows }))
    const second = (await readAs(path, 'raw', first)) as TitleReading
    expect(second.issues.map(({ kind, count = 1 }) => [kind, count])).toEqual([
      ['extra-key', 2],
      ['unknown-event-type', 1],
    ])
  })
})

describe('a log that cannot be read', () => {
  /** Rows by id with their health. */
  const healths = ({ candidates }: CandidateList) =>
    Object.fromEntries(candidates.map(({ sessionId, health }) => [sessionId, health]))

  beforeEach(() => {
    home.write(session('fine', { title: 'Fine' }))
    home.write(`${session('torn', { title: 'Torn' })}{"type":"user/mess`)
    home.write(session('gap', { rows: [user('a'), user('b', { seq: 7 })], title: 'Gap' }))
    home.write(session('broken', { rows: [user('a'), user('b', { surfaceOp: undefined })], title: 'Broken' }))
    home.write(session('late', { rows: [logOnly('x/y', {}, { seq: 9 }), end()], title: 'Late' }))
    home.write(session('future', { version: 9, title: 'Future' }))
    home.write(session('retired', { header: { sandboxMode: 'x' }, title: 'Retired' }))
  })

  test('is a row with its health and one issue, and the others come out', async () => {
    const found = await list()
    expect(healths(found)).toEqual({
      fine: 'ok',
      torn: 'torn',
      gap: 'torn',
      broken: 'corrupt',
      late: 'corrupt',
      future: 'unsupported',
      retired: 'ok',
    })
    const labels = Object.fromEntries(found.candidates.map(({ sessionId, label }) => [sessionId, label]))
    expect(labels).toMatchObject({ fine: 'Fine', torn: 'Torn', broken: 'broken', future: 'future', retired: 'Retired' })
    const issues = Object.fromEntries(
      found.candidates.map(({ sessionId, issues }) => [sessionId, issues.map(({ kind }) => kind)]),
    )
    expect(issues).toEqual({
      fine: [],
      torn: ['torn-tail'],
      gap: ['discarded-rows'],
      broken: ['corrupt-log'],
      late: ['corrupt-log'],
      future: ['unsupported-log'],
      retired: ['retired-key'],
    })
    expect(kinds(found)).toEqual(Object.values(issues).flat().sort())
    const warm = await listWithIndex().then(() => listWithIndex())
    expect(warm.candidates).toEqual(found.candidates)
    expect(warm.issues).toEqual(found.issues)
    expect(warm.work.filesOpened).toBe(0)
  })

  test.each([
    ['ok', ['fine', 'retired']],
    ['torn', ['gap', 'torn']],
    ['corrupt', ['broken', 'late']],
    ['unsupported', ['future']],
    ['unread', []],
  ] as const)('is found by its health %s', async (health, expected) => {
    expect(ids(await list({ health })).sort()).toEqual(expected)
  })

  test('is no business of a list that does not show it, unless it may have hidden what was asked for', async () => {
    const found = await list({ query: 'Fine' })
    expect(ids(found)).toEqual(['fine'])
    expect(kinds(found)).toEqual(['corrupt-log', 'corrupt-log', 'unsupported-log'])
  })

  test('of an unknown version is read by its shape when that is allowed', async () => {
    const { candidates } = await list({ allowUnknownVersion: true, formatVersion: 9 })
    expect(candidates.map(({ label, health, issues }) => [label, health, issues.map(({ kind }) => kind)])).toEqual([
      ['Future', 'ok', ['unknown-version']],
    ])
  })

  test('for want of a header is an issue, and a row where rows for such logs are wanted', async () => {
    const path = home.write('', { project: 'p', session: 'sub~002Fempty', name: 'session.v3.jsonl' })
    home.write(session('other', { version: 2 }), { project: 'p', session: 'misnamed', name: 'session.v3.jsonl' })
    const found = await list({ since: 0 })
    expect(kinds(found).filter((kind) => kind === 'corrupt-log')).toHaveLength(4)
    expect(ids(found)).not.toContain('sub/empty')
    const all = await list({ includeUnreadable: true })
    expect(ids(all).slice(-2)).toEqual(['misnamed', 'sub/empty'])
    expect(all.candidates.at(-1)).toEqual({
      sessionId: 'sub/empty',
      label: 'sub/empty',
      sameWorkspace: false,
      mention: '@[sub/empty](dsh-session:InN1Yi9lbXB0eSI)',
      uri: 'dsh-session:InN1Yi9lbXB0eSI',
      path,
      formatVersion: 3,
      sizeBytes: 0,
      health: 'corrupt',
      issues: [expect.objectContaining({ kind: 'corrupt-log', file: path })],
    })
    // Of such a log nothing is known but its place.
    for (const filter of [{ since: 0 }, { until: 1e15 }, { origin: 'main' as const }, { cwds: ['/work/app'] }]) {
      expect(ids(await list({ includeUnreadable: true, ...filter }))).not.toContain('sub/empty')
    }
    expect(ids(await list({ includeUnreadable: true, query: 'SUB/' }))).toEqual(['sub/empty'])
  })

  test('for want of permission is unread, and is not remembered so', async () => {
    const path = home.write(session('secret', { title: 'Secret' }))
    chmodSync(home.root, 0o755)
    chmodSync(path, 0)
    const found = await asOther(() => list({ health: 'unread', includeUnreadable: true }))
    expect(ids(found)).toEqual(['secret'])
    expect(kinds(found)).toContain('unreadable-log')
    chmodSync(path, 0o644)
    expect(ids(await list({ query: 'Secret' }))).toEqual(['secret'])
  })
})

/** Runs as a user who owns nothing here; root may read everything, so permissions would not show. */
async function asOther<T>(work: () => Promise<T>): Promise<T> {
  if (process.getuid?.() !== 0) return work()
  process.seteuid?.(65534)
  try {
    return await work()
  } finally {
    process.seteuid?.(0)
  }
}

describe('what is no session', () => {
  test('is skipped, each with its issue', async () => {
    home.write(session('real'))
    const project = join(home.root, '--work-app--')
    writeFileSync(join(home.root, '.DS_Store'), '')
    writeFileSync(join(home.root, 'old.jsonl'), '')
    writeFileSync(join(project, 'flat.jsonl.zstd'), '')
    writeFileSync(join(project, 'notes.tmp'), '')
    symlinkSync(join(home.root, 'gone'), join(project, 'dangling'))
    symlinkSync(join(home.root, '.DS_Store'), join(project, 'to-a-file'))
    mkdirSync(join(project, 'link-inside'))
    symlinkSync(join(home.root, 'gone'), join(project, 'link-inside', 'session.jsonl'))
    mkdirSync(join(project, 'directory', 'session.jsonl'), { recursive: true })
    // Owned by their session, and no business of a list.
    const own = join(project, 'real')
    for (const name of ['session.lock', 'session.v4.jsonl.0123456789ab.tmp', 'session.v04.jsonl', 'SESSION.jsonl']) {
      writeFileSync(join(own, name), '')
    }
    mkdirSync(join(project, 'empty'))
    const found = await list()
    expect(ids(found)).toEqual(['real'])
    expect(kinds(found)).toEqual([
      'dangling-link',
      'dangling-link',
      'legacy-flat-file',
      'legacy-flat-file',
      'stray-file',
      'stray-file',
      'stray-file',
      'unreadable-log',
    ])
    expect((await listWithIndex().then(() => listWithIndex())).issues).toEqual(found.issues)
  })

  test('is skipped when it is a directory nobody may look into', async () => {
    home.write(session('real'))
    const project = join(home.root, 'closed')
    mkdirSync(join(project, 'session'), { recursive: true })
    mkdirSync(join(home.root, '--work-app--', 'closed'))
    chmodSync(home.root, 0o755)
    for (const path of [project, join(home.root, '--work-app--', 'closed')]) chmodSync(path, 0)
    const found = await asOther(() => list())
    expect(ids(found)).toEqual(['real'])
    expect(kinds(found)).toEqual(['unreadable-entry', 'unreadable-log'])
  })

  test('or is one twice, is listed once: where DSH would look for it', async () => {
    const astray = home.write(session('a', { title: 'Copy', header: { createdAt: 9 } }), { project: '--a-backup--' })
    const right = home.write(session('a', { title: 'Right', header: { createdAt: 5 } }))
    const found = await list()
    expect(found.candidates.map(({ label, path }) => [label, path])).toEqual([['Right', right]])
    expect(found.candidates[0]?.issues).toEqual([
      expect.objectContaining({ kind: 'duplicate-id', file: astray, sessionId: 'a' }),
    ])
    expect(kinds(found)).toEqual(['duplicate-id'])
    // The same file by two ways is one session.
    rmSync(dirname(dirname(astray)), { recursive: true })
    symlinkSync(dirname(dirname(right)), join(home.root, 'z-link'))
    const linked = await list()
    expect(ids(linked)).toEqual(['a'])
    expect(kinds(linked)).toEqual([])
  })

  test('or lies where its header does not lead, is listed with an issue', async () => {
    home.write(session('a'), { project: 'elsewhere' })
    const found = await list()
    expect(ids(found)).toEqual(['a'])
    expect(found.candidates[0]?.issues.map(({ kind }) => kind)).toEqual(['path-mismatch'])
  })

  test('or both raw and compressed, is an issue', async () => {
    const path = home.write(session('both'))
    writeFileSync(`${path}.zstd`, '')
    home.write(session('mixed', { version: 3 }))
    writeFileSync(join(home.root, '--work-app--', 'mixed', 'session.v2.jsonl.zstd'), '')
    const found = await list()
    expect(ids(found)).toEqual(['mixed'])
    expect(found.candidates[0]?.issues.map(({ kind }) => kind)).toEqual(['encoding-mismatch'])
    expect(kinds(found)).toEqual(['encoding-mismatch', 'unreadable-log'])
    const warm = await listWithIndex().then(() => listWithIndex())
    expect(warm.issues).toEqual(found.issues)
    rmSync(join(home.root, '--work-app--', 'mixed', 'session.v2.jsonl.zstd'))
    expect(kinds(await listWithIndex())).toEqual(['unreadable-log'])
  })
})

describe('a root', () => {
  test('that does not exist, one that nobody may read and an empty one are three answers', async () => {
    await expect(list({ roots: [join(home.root, 'none')] })).rejects.toMatchObject({ reason: 'not-found' })
    const closed = join(home.root, 'closed')
    mkdirSync(closed)
    chmodSync(home.root, 0o755)
    chmodSync(closed, 0)
    await expect(asOther(() => list({ roots: [closed] }))).rejects.toMatchObject({ reason: 'unreadable' })
    const empty = join(home.root, 'empty')
    mkdirSync(empty)
    expect(await list({ roots: [empty] })).toMatchObject({ candidates: [], issues: [], sessions: 0 })
  })

  test('that is missing beside another is an issue; one that is given twice counts once', async () => {
    home.write(session('a'))
    const found = await list({ roots: [join(home.root, 'none'), home.root, `${home.root}/.`] })
    expect(ids(found)).toEqual(['a'])
    expect(kinds(found)).toEqual(['missing-root'])
  })
})

describe('a list is filtered', () => {
  beforeEach(() => {
    home.write(session('main-1', { title: 'Parser', header: { createdAt: 100 } }))
    home.write(session('main-2', { title: 'Lexer', header: { createdAt: 200, cwd: '/work/other/' } }))
    home.write(
      session('sub-1', { header: { createdAt: 300, origin: 'subagent', delegationDepth: 1, parentSession: 'main-1' } }),
    )
    home.write(session('deep-1', { version: 0, header: { createdAt: 400, delegationDepth: 2, cwd: undefined } }))
  })

  test.each<[string, Partial<ListOptions>, string[]]>([
    ['by nothing', {}, ['deep-1', 'sub-1', 'main-2', 'main-1']],
    ['by the end of its time', { until: 200 }, ['main-2', 'main-1']],
    ['by the start of its time', { since: 200 }, ['deep-1', 'sub-1', 'main-2']],
    ['to main sessions', { origin: 'main' }, ['main-2', 'main-1']],
    ['to sub-agent sessions, by origin and by depth', { origin: 'subagent' }, ['deep-1', 'sub-1']],
    ['by its directory, with or without a slash', { cwds: ['/work/other'] }, ['main-2']],
    ['by one of the spellings of a directory', { cwds: ['.', '/work/app/'] }, ['sub-1', 'main-1']],
    ['by version', { formatVersion: 0 }, ['deep-1']],
    ['by title', { query: 'parser' }, ['main-1']],
    ['by directory', { query: 'OTHER' }, ['main-2']],
    ['by both query and filter', { query: 'main', since: 150 }, ['main-2']],
    ['to a number', { limit: 2 }, ['deep-1', 'sub-1']],
    ['to any number', { limit: Number.POSITIVE_INFINITY }, ['deep-1', 'sub-1', 'main-2', 'main-1']],
  ])('%s', async (_, options, expected) => {
    expect(ids(await list(options))).toEqual(expected)
  })

  test.each<[NonNullable<ListOptions['sort']>, string[]]>([
    ['created', ['deep-1', 'sub-1', 'main-2', 'main-1']],
    ['updated', ['main-1', 'main-2', 'deep-1', 'sub-1']],
    ['title', ['deep-1', 'main-2', 'main-1', 'sub-1']],
    ['size', ['main-2', 'main-1', 'sub-1', 'deep-1']],
  ])('and sorted by %s alone, whatever the target', async (sort, expected) => {
    home.write(session('t', { header: { cwd: '/work/app' } }))
    const target = { sessionId: 't', cwd: '/work/app' }
    expect(ids(await list({ sort, target }))).toEqual(expected)
  })

  test('and says how many sessions there are, and how many the limit left out', async () => {
    expect(await list({ limit: 1 })).toMatchObject({ sessions: 4, omitted: 3 })
    expect(await list({ limit: 1, origin: 'main' })).toMatchObject({ sessions: 4, omitted: 1 })
    expect(await list({ limit: 1, query: 'e' })).toMatchObject({ omitted: 2, undecided: 0 })
  })

  test('by what is archived in the home of its root', async () => {
    const root = join(home.root, 'sessions')
    mkdirSync(join(home.root, 'storages'))
    const file = join(home.root, 'storages', 'workspace.json')
    const unit = { name: 'workspace', version: 7 }
    writeFileSync(file, JSON.stringify({ unit, global: { archivedSessionIds: ['b', 'gone', 4], pinned: [] }, more: 1 }))
    for (const id of ['a', 'b']) home.write(session(id), { project: 'sessions/--work-app--' })
    const shown = await list({ roots: [root] })
    expect(shown.candidates.map(({ sessionId, archived }) => [sessionId, archived])).toEqual([
      ['a', undefined],
      ['b', true],
    ])
    expect(ids(await list({ roots: [root], archived: 'hide' }))).toEqual(['a'])
    expect(ids(await list({ roots: [root], archived: 'only' }))).toEqual(['b'])
    for (const unknown of ['{}', 'null', '[]', '{"global":{"archivedSessionIds":3}}', 'no json']) {
      writeFileSync(file, unknown)
      expect(ids(await list({ roots: [root], archived: 'hide' }))).toEqual(['a', 'b'])
      expect(kinds(await list({ roots: [root] }))).toEqual([])
    }
    expect(kinds(await list({ roots: [root], archived: 'hide' }))).toEqual(['unreadable-entry'])
  })
})

describe('a list can be', () => {
  test('cancelled, before and while it works, and keeps what it learned', async () => {
    for (let at = 0; at < 400; at++) home.write(session(`s${at}`, { title: 'T', header: { createdAt: at } }))
    await expect(list({ signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'SESSION_REFERENCE_CANCELLED' })
    const controller = new AbortController()
    const index = openTitleIndex(cache, [home.root])
    let read = 0
    const onProgress = () => {
      read++
      if (read === 20) controller.abort()
    }
    const cancelled = list({ signal: controller.signal, query: 'nothing', index, onProgress })
    await expect(cancelled).rejects.toMatchObject({ code: 'SESSION_REFERENCE_CANCELLED' })
    expect(openTitleIndex(cache, [home.root])?.size).toBe(400)
    expect((await listWithIndex({ query: 'nothing' })).work.filesOpened).toBeLessThanOrEqual(380)
  })

  test('interrupted by a signal while it opens headers', async () => {
    for (let at = 0; at < 2000; at++) home.write(session(`s${at}`))
    // Only an event loop that gets its turn lets this fire.
    await expect(list({ signal: AbortSignal.timeout(1) })).rejects.toMatchObject({
      code: 'SESSION_REFERENCE_CANCELLED',
    })
  })

  test('interrupted by a signal while it reads logs that need no waiting', async () => {
    for (let at = 0; at < 2000; at++) home.write(session(`s${at}`))
    const controller = new AbortController()
    // Only an event loop that gets its turn lets this fire.
    const onProgress = () => setTimeout(() => controller.abort(), 0)
    await expect(list({ signal: controller.signal, query: 'nothing', onProgress })).rejects.toMatchObject({
      code: 'SESSION_REFERENCE_CANCELLED',
    })
  })

  test('watched', async () => {
    for (const id of ['a', 'b', 'c']) home.write(session(id))
    const seen: [number, number][] = []
    await list({ onProgress: ({ logsRead, logs }) => seen.push([logsRead, logs]) })
    expect(seen).toEqual([
      [1, 3],
      [2, 3],
      [3, 3],
    ])
  })

  test.each([0, -1, 1.5, Number.NaN, Number.MAX_VALUE])('refused for a limit of %d', async (limit) => {
    await expect(list({ limit })).rejects.toMatchObject({ code: 'SESSION_REFERENCE_INVALID_REFERENCE' })
  })
})
