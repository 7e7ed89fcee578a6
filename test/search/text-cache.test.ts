// The kept texts of a search as files: that they are private, and that whatever happens to them costs time and nothing else.

import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { slowCrc32 } from '../../src/search/checksum.ts'
import { queryOf } from '../../src/search/query.ts'
import { searchSessions } from '../../src/search/search.ts'
import { openTextCache, type TextCache } from '../../src/search/text-cache.ts'
import { chatLog } from '../support/chat-log.ts'
import { type Home, makeHome } from '../support/homes.ts'

let home: Home
let cache: string

beforeEach(() => {
  home = makeHome()
  cache = mkdtempSync(join(tmpdir(), 'dsh-ref-texts-'))
  for (const name of ['one', 'two', 'three']) {
    home.write(chatLog(name, [{ user: `needle of ${name}` }, { assistant: 'A Needle answered' }]))
  }
})

afterEach(() => {
  home.remove()
  rmSync(cache, { recursive: true, force: true })
})

async function search(pattern = 'needle', texts: TextCache | undefined = openTextCache(cache)) {
  const answer = await searchSessions({ roots: [home.root], query: queryOf([pattern], {}), texts })
  const lines = await Promise.all(answer.found.map((session) => answer.linesOf(session, 0)))
  await answer.close()
  return { found: answer.found, lines, logsRead: answer.work.logsRead }
}

const names = () => readdirSync(cache).sort()
const pack = () => join(cache, names().find((name) => name.endsWith('.pack')) as string)

/** What is found whatever the cache. */
async function expectRight(): Promise<number> {
  const { logsRead, ...answer } = await search()
  const { logsRead: _, ...expected } = await search('needle', undefined)
  expect(expected.found).toHaveLength(3)
  expect(answer).toEqual(expected)
  return logsRead
}

test('texts are kept in a file of their owner, and no log is read twice', async () => {
  expect(await expectRight()).toBe(3)
  expect(names()).toEqual(['texts', expect.stringMatching(/^texts-[0-9a-z]{12}\.pack$/)])
  for (const name of names()) expect(statSync(join(cache, name)).mode & 0o777).toBe(0o600)
  expect(await expectRight()).toBe(0)
  expect(await search('Needle')).toMatchObject({ logsRead: 0, found: { length: 3 } })
  expect(await search('nothing of the kind')).toMatchObject({ logsRead: 0, found: [] })
})

describe('a cache that', () => {
  beforeEach(expectRight)

  test('has one flipped byte anywhere is not believed there', async () => {
    const bytes = readFileSync(pack())
    for (let at = 0; at < bytes.length; at += 37) {
      const damaged = Buffer.from(bytes)
      damaged[at] = (damaged[at] as number) ^ 1
      writeFileSync(pack(), damaged)
      const index = readFileSync(join(cache, 'texts'))
      expect(await expectRight()).toBeLessThanOrEqual(3)
      // As it was, for the next one.
      for (const name of names()) rmSync(join(cache, name))
      writeFileSync(join(cache, 'texts'), index)
      await expectRight()
    }
  })

  test('is cut anywhere is not believed behind the cut', async () => {
    const { size } = statSync(pack())
    for (const length of [size >> 3, 20, 3, 0]) {
      truncateSync(pack(), length)
      expect(await expectRight()).toBeGreaterThan(0)
      expect(await expectRight()).toBe(0)
    }
  })

  test.each([
    ['index is foreign', () => writeFileSync(join(cache, 'texts'), 'something else')],
    ['index is cut', () => truncateSync(join(cache, 'texts'), 100)],
    [
      'index is flipped',
      () => {
        const bytes = readFileSync(join(cache, 'texts'))
        bytes[bytes.length - 9] = (bytes[bytes.length - 9] as number) ^ 4
        writeFileSync(join(cache, 'texts'), bytes)
      },
    ],
    ['pack is gone', () => rmSync(pack())],
    ['pack is foreign', () => writeFileSync(pack(), Buffer.alloc(10_000, 'needle '))],
    ['pack is a directory', () => renameSync(mkdtempSync(join(cache, 'd')), join(cache, 'texts-000000000000.pack'))],
    ['index may be written by others', () => chmodSync(join(cache, 'texts'), 0o666)],
    ['pack may be written by others', () => chmodSync(pack(), 0o666)],
  ])('whose %s costs time and nothing else', async (_, damage) => {
    damage()
    await expectRight()
    expect(await expectRight()).toBe(0)
  })

  test('is full keeps the logs written to last', async () => {
    rmSync(cache, { recursive: true, force: true })
    home.write(chatLog('newest', [{ user: 'x' }, { user: 'x' }, { user: 'a needle, later' }]))
    const small = () => openTextCache(cache, { maxBytes: 300 })
    await search('needle', small())
    const kept = await search('needle', small())
    expect(kept.found).toHaveLength(4)
    expect(kept.logsRead).toBeGreaterThan(0)
    const bytes = names().reduce((sum, name) => sum + (name === 'texts' ? 0 : statSync(join(cache, name)).size), 0)
    expect(bytes).toBeLessThan(2000)
  })

  test('is written by two at once is one of the two, or both', async () => {
    const [first, second] = [openTextCache(cache), openTextCache(cache)]
    home.write(chatLog('four', [{ user: 'another needle' }]))
    const answers = await Promise.all([search('needle', first), search('needle', second)])
    for (const { found } of answers) expect(found).toHaveLength(4)
    expect(await search()).toMatchObject({ logsRead: 0, found: { length: 4 } })
  })

  test('was replaced by another process in the middle is read again', async () => {
    const texts = openTextCache(cache)
    rmSync(pack())
    expect(await search('needle', texts)).toMatchObject({ logsRead: 3, found: { length: 3 } })
  })
})

describe('a log that', () => {
  beforeEach(expectRight)
  const path = () => join(home.root, '--work-app--', 'one', 'session.jsonl')

  test('was changed in place, its time and size as before, does not answer from the cache', async () => {
    const { atime, mtime } = statSync(path())
    writeFileSync(path(), readFileSync(path(), 'utf8').replace('needle of one', 'noodle of one'))
    utimesSync(path(), atime, mtime)
    const { found, logsRead } = await search('noodle')
    expect([found.map(({ sessionId }) => sessionId), logsRead]).toEqual([['one'], 1])
  })

  test('was replaced or removed does not answer from the cache', async () => {
    copyFileSync(path().replace('/one/', '/two/'), `${path()}.new`)
    writeFileSync(path(), chatLog('one', [{ user: 'all different, and longer than it was before, much longer' }]))
    rmSync(join(home.root, '--work-app--', 'three'), { recursive: true })
    rmSync(`${path()}.new`)
    expect((await search()).found.map(({ sessionId }) => sessionId)).toEqual(['two'])
    expect((await search('different')).found).toHaveLength(1)
  })
})

test('a directory that cannot be written to leaves a search without a cache', async () => {
  const file = join(cache, 'no-directory')
  writeFileSync(file, '')
  const { found, lines, logsRead } = await search('needle', openTextCache(file))
  expect([found.length, lines.flat().length, logsRead]).toEqual([3, 6, 3])
})

test('checksums are the same without the one of Node', () => {
  expect(slowCrc32(Buffer.from('123456789'))).toBe(0xcbf43926)
  expect(slowCrc32(Buffer.from('6789'), slowCrc32(Buffer.from('12345')))).toBe(0xcbf43926)
})
