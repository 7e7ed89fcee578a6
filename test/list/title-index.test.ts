// The private cache of the list as a file: what it keeps, and that whatever happens to it costs time and nothing else.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { hasGrown, isSettled } from '../../src/list/file-state.ts'
import { type IndexEntry, indexEntry } from '../../src/list/index-entry.ts'
import { IndexDamaged } from '../../src/list/index-file.ts'
import { cacheDirectory, openTitleIndex, type TitleIndex } from '../../src/list/title-index.ts'

const DAY = 86_400_000
const NOW = 20_000 * DAY + 1

let directory: string
let cache: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-index-'))
  cache = join(directory, 'deep', 'cache')
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

const open = (now = NOW) => openTitleIndex(cache, [], now) as TitleIndex
const file = () => join(cache, readdirSync(cache)[0] as string)

const text = fc.string({ unit: 'binary', maxLength: 20 })
const issues = fc.array(fc.record({ kind: fc.constant('extra-key' as const), message: text }), { maxLength: 2 })
const entries: fc.Arbitrary<IndexEntry> = fc
  .record({
    directoryKey: fc.constantFrom('', '12:1790000000000.123'),
    name: fc.constantFrom('session.jsonl', 'session.v4.jsonl.zstd'),
    logKey: fc.constant('1:2:3:4'),
    brief: fc.option(
      fc.record({
        id: text,
        createdAt: fc.nat(),
        cwd: fc.option(fc.constantFrom('/work', '/work/用户'), { nil: undefined }),
        origin: fc.option(text, { nil: undefined }),
        parentSession: fc.option(text, { nil: undefined }),
        isSubagent: fc.boolean(),
        isMisplaced: fc.boolean(),
      }),
      { nil: undefined },
    ),
    refusal: fc.constantFrom(undefined, 'corrupt' as const, 'unsupported' as const),
    reading: fc.option(
      fc.record({
        health: fc.constantFrom('ok' as const, 'torn' as const, 'corrupt' as const),
        title: fc.option(text, { nil: undefined }),
        firstMessage: fc.option(text, { nil: undefined }),
        updatedAt: fc.option(fc.integer(), { nil: undefined }),
      }),
      { nil: undefined },
    ),
    details: fc.record({ placeIssues: issues, headerIssues: issues }),
  })
  .map(indexEntry)

const READING = { health: 'ok', title: '会话', firstMessage: '你好', updatedAt: 2 } as const

const ENTRY = indexEntry({
  directoryKey: '1:2',
  name: 'session.jsonl',
  logKey: '1:2:3:4',
  brief: {
    id: 'a',
    createdAt: 1,
    cwd: '/work',
    origin: 'subagent',
    parentSession: 'b',
    isSubagent: false,
    isMisplaced: false,
  },
  refusal: undefined,
  reading: READING,
  details: { placeIssues: [{ kind: 'path-mismatch', message: 'It lies elsewhere' }], headerIssues: [] },
})

/** An entry with everything that is read late. */
function plain(entry: IndexEntry | undefined): IndexEntry | undefined {
  return entry && indexEntry(entry)
}

async function saved(count: number): Promise<void> {
  const index = open()
  for (let at = 0; at < count; at++) index.set(`/root/project/${at}`, ENTRY)
  await index.save()
}

describe('an index', () => {
  test('gives back what was put into it, before and after it was saved', async () => {
    await fc.assert(
      fc.asyncProperty(fc.dictionary(text, entries, { maxKeys: 6 }), async (byName) => {
        rmSync(cache, { recursive: true, force: true })
        const all = Object.entries(byName).map(
          ([name, entry]) => [`/root/p${name.length % 3}/s${name}`, entry] as const,
        )
        const first = open()
        for (const [path, entry] of all) first.set(path, entry)
        for (const [path, entry] of all) expect(plain(first.get(path))).toEqual(entry)
        await first.save()
        // Kept entries are written again without being taken apart.
        const second = open()
        second.set('/root/other/s', ENTRY)
        await second.save()
        const third = open()
        expect(third.size).toBe(all.length + 1)
        for (const [path, entry] of all) expect(plain(third.get(path))).toEqual(entry)
      }),
      { numRuns: 60 },
    )
  })

  test('is its owner’s alone', async () => {
    await saved(1)
    expect(statSync(cache).mode & 0o777).toBe(0o700)
    expect(statSync(file()).mode & 0o777).toBe(0o600)
    expect(readdirSync(cache)).toHaveLength(1)
  })

  test('writes only when it has changed, and notes once a day what is still asked for', async () => {
    await saved(2)
    const written = () => statSync(file(), { bigint: true }).ino
    const before = written()
    const same = open()
    same.get('/root/project/0')
    await same.save()
    expect(written()).toBe(before)
    const tomorrow = open(NOW + DAY)
    tomorrow.get('/root/project/0')
    await tomorrow.save()
    expect(written()).not.toBe(before)
  })

  test('keeps 20,000 entries, those seen last, and none out of proportion', async () => {
    await saved(20_000)
    const index = open(NOW + DAY)
    index.get('/root/project/0')
    index.set('/root/project/new', ENTRY)
    const title = 'x'.repeat(20_000)
    index.set('/root/project/huge', indexEntry({ ...ENTRY, reading: { ...READING, title } }))
    await index.save()
    const after = open(NOW + DAY)
    expect(after.size).toBeLessThanOrEqual(20_000)
    expect(after.get('/root/project/0')).toBeDefined()
    expect(after.get('/root/project/new')).toBeDefined()
    expect(after.get('/root/project/huge')).toBeUndefined()
    expect(after.get('/root/project/19999')).toBeUndefined()
  })
})

describe('a damaged index', () => {
  /** Reads everything in it; what is damaged may be missing, and may say so late, but is never something else. */
  function readAll(): void {
    const index = open()
    for (const path of ['/root/project/0', '/root/project/1']) {
      try {
        const entry = plain(index.get(path))
        if (entry) expect(entry).toEqual(ENTRY)
      } catch (error) {
        expect(error).toBeInstanceOf(IndexDamaged)
      }
    }
  }

  test('is empty or says so, whichever byte is wrong', async () => {
    await saved(2)
    const bytes = readFileSync(file())
    for (let at = 0; at < bytes.length; at++) {
      const damaged = Buffer.from(bytes)
      damaged[at] = (damaged[at] as number) ^ 1
      writeFileSync(file(), damaged)
      readAll()
    }
  })

  test('is empty or says so, wherever it is cut off', async () => {
    await saved(2)
    const bytes = readFileSync(file())
    for (let length = 0; length < bytes.length; length++) {
      writeFileSync(file(), bytes.subarray(0, length))
      readAll()
    }
  })

  test('is replaced by the next save', async () => {
    await saved(2)
    const bytes = readFileSync(file())
    for (const damaged of [Buffer.from('other'), bytes.subarray(0, bytes.length - 1)]) {
      writeFileSync(file(), damaged)
      const index = open()
      index.clear()
      index.set('/root/project/7', ENTRY)
      await index.save()
      expect(plain(open().get('/root/project/7'))).toEqual(ENTRY)
    }
  })

  test('of which only one entry is damaged loses that entry with the next save', async () => {
    await saved(2)
    const bytes = readFileSync(file())
    bytes[bytes.length - 2] = 0
    writeFileSync(file(), bytes)
    const index = open()
    index.set('/root/project/7', ENTRY)
    await index.save()
    const after = open()
    expect([0, 1, 7].map((at) => after.get(`/root/project/${at}`) !== undefined)).toEqual([true, false, true])
  })

  test('or one that others may write is not trusted', async () => {
    await saved(2)
    chmodSync(file(), 0o666)
    expect(open().size).toBe(0)
  })
})

describe('a cache directory', () => {
  test('that cannot be made or written costs nothing but time', async () => {
    writeFileSync(join(directory, 'file'), '')
    cache = join(directory, 'file', 'cache')
    await saved(1)
    expect(open().size).toBe(0)
  })

  test('that others may write is not used', async () => {
    mkdirSync(cache, { recursive: true })
    chmodSync(cache, 0o777)
    await saved(1)
    expect(readdirSync(cache)).toEqual([])
  })

  test('below a sessions root is refused, by whatever way it is there', () => {
    const root = join(directory, 'sessions')
    mkdirSync(root)
    symlinkSync(root, join(directory, 'link'))
    const refused = /lies in the sessions root .*; name one elsewhere with \$DSH_REF_CACHE_DIR/
    expect(() => openTitleIndex(join(root, 'a', 'b'), [root])).toThrow(refused)
    expect(() => openTitleIndex(join(directory, 'link', 'a'), [root])).toThrow(refused)
    expect(() => openTitleIndex(root, [join(directory, 'link')])).toThrow(refused)
    expect(openTitleIndex(join(directory, 'sessions-cache'), [root])).toBeDefined()
    expect(existsSync(join(root, 'a'))).toBe(false)
  })

  test.each([
    [{ DSH_REF_CACHE_DIR: '/c', XDG_CACHE_HOME: '/x' }, '/c'],
    [{ XDG_CACHE_HOME: '/x' }, '/x/dsh-ref'],
    [{ XDG_CACHE_HOME: 'x' }, '/home/me/.cache/dsh-ref'],
    [{ XDG_CACHE_HOME: '', DSH_REF_CACHE_DIR: '' }, '/home/me/.cache/dsh-ref'],
    [{}, '/home/me/.cache/dsh-ref'],
  ])('of %j is %s', (env, expected) => {
    expect(cacheDirectory(env, '/home/me')).toBe(expected)
  })
})

describe('several processes', () => {
  test('that save at once leave one whole index', async () => {
    await saved(1)
    const indexes = Array.from({ length: 8 }, () => open())
    await Promise.all(
      indexes.map((index, at) => {
        index.set(`/root/own/${at}`, ENTRY)
        return index.save()
      }),
    )
    const after = open()
    expect(after.size).toBe(2)
    expect(plain(after.get('/root/project/0'))).toEqual(ENTRY)
    expect(readdirSync(cache)).toHaveLength(1)
  })

  test('do not take its details from each other', async () => {
    await saved(2)
    const index = open()
    const other = open()
    other.clear()
    other.set('/root/project/0', indexEntry({ ...ENTRY, logKey: '9:9:9:9' }))
    await other.save()
    expect(plain(index.get('/root/project/1'))).toEqual(ENTRY)
    // Once it has let go of its file, it can only say that there is another one now.
    await index.save()
    expect(() => index.get('/root/project/1')?.details).toThrow(IndexDamaged)
  })
})

describe('a state', () => {
  test.each([
    ['1:2:10:5', '1:2:11:6', true],
    ['1:2:10:5', '1:2:10:6', false],
    ['1:2:10:5', '1:2:9:6', false],
    ['1:2:9:5', '1:2:10:6', true],
    ['1:2:10:5', '1:3:11:6', false],
    ['1:2:10:5', '2:2:11:6', false],
  ])('%s may have grown to %s: %s', (before, after, expected) => {
    expect(hasGrown(before, after)).toBe(expected)
  })

  test('of a directory is trusted when the clock has ticked since', () => {
    expect(isSettled({ mtimeMs: BigInt(NOW - 4000) }, NOW)).toBe(true)
    expect(isSettled({ mtimeMs: BigInt(NOW - 2000) }, NOW)).toBe(false)
    expect(isSettled({ mtimeMs: BigInt(NOW + 2000) }, NOW)).toBe(false)
  })
})
