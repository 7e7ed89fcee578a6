// What a search finds: held against a naive search of every conformance log, cold, warm and without a cache; and the rules of
// words, case, order and what is left out.

import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { FoundSession } from '../../src/search/found.ts'
import type { MatchedLine } from '../../src/search/lines.ts'
import { type QueryOptions, queryOf } from '../../src/search/query.ts'
import { type SearchOptions, searchSessions } from '../../src/search/search.ts'
import { openTextCache, type TextCache } from '../../src/search/text-cache.ts'
import { chatLog } from '../support/chat-log.ts'
import { CONFORMANCE } from '../support/conformance.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { holdsFolded, naiveLines, wordsIn } from '../support/naive-search.ts'

let home: Home
let cache: string

beforeEach(() => {
  home = makeHome()
  cache = mkdtempSync(join(tmpdir(), 'dsh-ref-texts-'))
})

afterEach(() => {
  home.remove()
  rmSync(cache, { recursive: true, force: true })
})

interface Answer {
  readonly found: readonly FoundSession[]
  readonly lines: ReadonlyMap<string, readonly MatchedLine[]>
  readonly logsRead: number
  readonly bytesRead: number
  readonly issues: readonly string[]
}

async function search(
  patterns: string | readonly string[],
  options: QueryOptions & Partial<SearchOptions> & { readonly cached?: TextCache | false; readonly root?: string } = {},
): Promise<Answer> {
  const { cached = openTextCache(cache), root = home.root, ...rest } = options
  const query = queryOf(typeof patterns === 'string' ? [patterns] : patterns, rest)
  const answer = await searchSessions({
    roots: [root],
    limit: Number.POSITIVE_INFINITY,
    ...rest,
    query,
    texts: cached === false ? undefined : cached,
  })
  const lines = new Map<string, readonly MatchedLine[]>()
  for (const session of answer.found) lines.set(session.path, await answer.linesOf(session, 0))
  await answer.close()
  const { found, work, issues } = answer
  return { found, lines, ...work, issues: issues.map(({ kind }) => kind) }
}

const ids = ({ found }: Answer) => found.map(({ sessionId }) => sessionId)
const texts = ({ lines }: Answer) => [...lines.values()].flat().map(({ text }) => text)

const naiveByPath = new Map<string, ReturnType<typeof naiveLines>>()

/** Finds by both, three times, and holds the lines of every log of a root against each other. */
async function expectSame(root: string, wanted: string, options: QueryOptions, holds: (line: string) => boolean) {
  const logs = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => /\.jsonl(\.zstd)?$/.test(name))
  const naive = new Map<string, unknown>()
  for (const name of logs) {
    const path = join(root, name)
    const all = naiveByPath.get(path) ?? naiveLines(path)
    naiveByPath.set(path, all)
    const lines = (await all).filter(({ text }) => holds(text))
    if (lines.length > 0) naive.set(name, lines)
  }
  for (const cached of [openTextCache(cache), openTextCache(cache), false] as const) {
    const answer = await search(wanted, { ...options, root, cached })
    const found = new Map<string, unknown>()
    for (const { path, matchingLines } of answer.found) {
      const lines = answer.lines.get(path) as readonly MatchedLine[]
      expect(lines).toHaveLength(matchingLines)
      const rows = lines.map(({ seq, role, line, text, shadowedBySeq }) => ({ seq, role, line, text, shadowedBySeq }))
      if (rows.length > 0) found.set(path.slice(root.length + 1), rows)
    }
    expect(found).toEqual(naive)
  }
}

describe.skipIf(!CONFORMANCE)('a search of the conformance logs finds what a naive one finds', () => {
  const folder = CONFORMANCE as string
  const logs = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.startsWith('logs/') && name.endsWith('.jsonl') && name !== 'logs/expected.jsonl')
    .sort()
  const homes = logs.map((name) => {
    const one = makeHome()
    return { name, home: one, path: one.write(readFileSync(join(folder, name))) }
  })
  afterAll(() => {
    for (const { home: one } of homes) one.remove()
  })

  test.each(homes)('$name', async ({ home: { root }, path }) => {
    for (const word of [...wordsIn(path, 2), 'e']) {
      await expectSame(root, word.toLowerCase(), {}, holdsFolded(word))
    }
    const [word = 'the'] = wordsIn(path, 1)
    await expectSame(root, word, { isWord: true, ignoresCase: true }, (line) =>
      new RegExp(`(?<![\\p{L}\\p{M}\\p{N}_])${word}(?![\\p{L}\\p{M}\\p{N}_])`, 'iu').test(line),
    )
    await expectSame(root, 'The', {}, (line) => line.includes('The'))
    await expectSame(root, '[A-Z]\\w+ \\w+', { isRegex: true }, (line) => /[A-Z]\w+ \w+/.test(line))
  })

  test.each(['raw', 'zstd', 'raw-unpacked', 'raw-damaged', 'zstd-damaged'])('the tree %s', async (tree) => {
    const root = join(folder, 'artifacts', tree)
    for (const word of ['e', 'a', 'session', 'zzz']) await expectSame(root, word, {}, holdsFolded(word))
  })
})

describe('a search', () => {
  beforeEach(() => {
    home.write(
      chatLog('redirects', [
        { title: 'Login page' },
        { user: 'The page redirects in a LOOP\nand again' },
        { assistant: 'A redirect loop comes from the cookie.\nThe loop ends there.' },
        { checkpoint: 'Summary: the redirect loop is gone', from: 1, to: 2, sources: [1, 2] },
        { user: 'Thanks' },
      ]),
    )
    home.write(chatLog('loops', [{ user: 'a loop' }, { assistant: 'and a redirect, elsewhere' }], '/work/other'))
    home.write(chatLog('asian', [{ user: '会话里的错误信息在这里' }, { assistant: 'Ça va, caf\u0065\u0301?' }]))
    home.write(chatLog('redirect-loop', [{ user: 'nothing of the kind' }]))
  })

  test('finds sessions that hold every word, in any order and place, and lines with any of them', async () => {
    const answer = await search('loop redirect')
    expect(ids(answer)).toEqual(['redirect-loop', 'redirects', 'loops'])
    expect(texts(answer)).toEqual([
      'The page redirects in a LOOP',
      'A redirect loop comes from the cookie.',
      'The loop ends there.',
      'Summary: the redirect loop is gone',
      'a loop',
      'and a redirect, elsewhere',
    ])
  })

  test('marks what a compaction replaced, and leaves it out when only the current surface counts', async () => {
    const [replaced, , , current] = [...(await search('loop redirect')).lines.values()][1] as MatchedLine[]
    expect(replaced).toMatchObject({ seq: 1, role: 'user', line: 1, shadowedBySeq: 3, checkpoint: false })
    expect(current).toMatchObject({ seq: 3, checkpoint: true })
    expect(current).not.toHaveProperty('shadowedBySeq')
    const answer = await search('cookie', { isCurrent: true })
    expect(ids(answer)).toEqual([])
    expect(texts(await search('redirect', { isCurrent: true }))).toEqual([
      'Summary: the redirect loop is gone',
      'and a redirect, elsewhere',
    ])
  })

  test('goes by case only when a word has a capital, and not even then when told so', async () => {
    expect(ids(await search('LOOP'))).toEqual(['redirects'])
    expect(ids(await search('LOOP', { ignoresCase: true }))).toEqual(ids(await search('loop')))
    expect(ids(await search('loop'))).toHaveLength(3)
  })

  test('finds whole words only when told so', async () => {
    expect(ids(await search('redirect', { isWord: true }))).toEqual(['redirect-loop', 'redirects', 'loops'])
    expect(ids(await search('direct', { isWord: true }))).toEqual([])
    expect(ids(await search('Direct', { isWord: true, ignoresCase: true }))).toEqual([])
  })

  test('takes a phrase to the letter when told so', async () => {
    expect(texts(await search('redirect loop', { isPhrase: true }))).toEqual([
      'A redirect loop comes from the cookie.',
      'Summary: the redirect loop is gone',
    ])
    expect(texts(await search('loop\nand', { isPhrase: true }))).toEqual(['The page redirects in a LOOP', 'and again'])
  })

  test('finds what an expression matches, and all expressions must match', async () => {
    expect(ids(await search('red\\w+ loop', { isRegex: true }))).toEqual(['redirects'])
    expect(ids(await search(['^a loop$', 'else'], { isRegex: true }))).toEqual(['loops'])
    await expect(search('(', { isRegex: true })).rejects.toThrow(/Invalid regular expression/)
  })

  test('counts only what one of them said when asked for a role, and no names', async () => {
    expect(ids(await search('redirect', { role: 'assistant' }))).toEqual(['redirects', 'loops'])
    expect(ids(await search('redirect', { role: 'user' }))).toEqual(['redirects'])
  })

  test('finds Chinese by any part, and letters with marks however they are spelt', async () => {
    expect(texts(await search('错误信'))).toEqual(['会话里的错误信息在这里'])
    const answer = await search('caf\u00e9')
    expect(ids(answer)).toEqual(['asian'])
    const [line] = [...answer.lines.values()][0] as MatchedLine[]
    expect(line?.ranges).toEqual([[7, 12]])
    expect(ids(await search('CAFE\u0301'))).toEqual([])
    expect(ids(await search('ça'))).toEqual(['asian'])
  })

  test('says which names hold a word, and puts sessions first whose names hold all of them', async () => {
    const { found } = await search('login')
    expect(found).toMatchObject([{ sessionId: 'redirects', namedBy: ['title'], matchingLines: 0, title: 'Login page' }])
    expect(ids(await search('other loop'))).toEqual(['loops'])
  })

  test('knows an untitled session by its first message', async () => {
    const [first] = (await search('elsewhere')).found
    expect(first).toMatchObject({ label: 'loops', firstMessage: 'a loop' })
    expect(first).not.toHaveProperty('title')
  })

  test('finds the results of tools only when asked for them', async () => {
    home.write(chatLog('tools', [{ user: 'run it' }, { tool: 'ENOENT: no such file' }]))
    expect(ids(await search('ENOENT'))).toEqual([])
    const answer = await search('ENOENT', { withTools: true })
    expect([...answer.lines.values()][0]).toMatchObject([{ seq: 1, role: 'tool', text: 'ENOENT: no such file' }])
  })

  test('goes by the filters of a list', async () => {
    expect(ids(await search('loop', { cwds: ['/work/other'] }))).toEqual(['loops'])
    expect(ids(await search('loop', { limit: 1 }))).toEqual(['loops'])
    expect(ids(await search('loop', { target: { sessionId: 'redirect-loop' } }))).toEqual(['loops', 'redirects'])
  })

  test('refuses to look for nothing', () => {
    expect(() => queryOf([' '], {})).toThrow('There is nothing to search for')
  })
})

describe('the order of what is found', () => {
  test('goes by doublings of the matching lines, then by the last event', async () => {
    const said = (count: number) => Array.from({ length: count }, () => ({ user: 'needle' }))
    home.write(chatLog('three', said(3)))
    home.write(chatLog('four', said(4)))
    home.write(chatLog('two-and-later', [...said(2), { user: 'x' }, { user: 'y' }]))
    expect(ids(await search('needle'))).toEqual(['four', 'two-and-later', 'three'])
  })

  test('puts words in one line before words in different ones, and the phrase before both', async () => {
    home.write(chatLog('apart', [{ user: 'alpha' }, { user: 'beta\n'.repeat(20) }]))
    home.write(chatLog('line', [{ user: 'beta alpha' }]))
    home.write(chatLog('phrase', [{ user: 'alpha beta' }]))
    expect(ids(await search('alpha beta'))).toEqual(['phrase', 'line', 'apart'])
  })
})

describe('a damaged log', () => {
  test('is searched as far as it reads, and is named', async () => {
    const log = chatLog('damaged', [{ user: 'before' }, { user: 'gone' }, { user: 'behind' }])
    const rows = log.split('\n')
    rows[2] = rows[2]?.replace('"surfaceOp":"append"', '"surfaceOp":"apend"') as string
    home.write(rows.join('\n'))
    for (let run = 0; run < 2; run++) {
      expect(await search('before')).toMatchObject({ issues: ['salvaged'], found: [{ health: 'corrupt' }] })
      expect(await search('behind')).toMatchObject({ issues: ['salvaged'], found: [] })
    }
  })

  test('of an unknown version is named, and may be found by its names', async () => {
    home.write(chatLog('future', [{ user: 'hello' }]).replace('"version":0', '"version":99'), {
      name: 'session.v99.jsonl',
    })
    const answer = await search('futur')
    expect(ids(answer)).toEqual(['future'])
    expect(answer.issues).toContain('unsupported-log')
  })
})

describe('a log that has grown', () => {
  const steps = [
    { user: 'first needle' },
    { assistant: 'second needle' },
    { tool: 'output' },
    { user: 'third' },
    { checkpoint: 'a needle in a summary', from: 0, to: 2, sources: [0, 1, 2] },
    { assistant: 'needle again' },
    { checkpoint: 'all of it: needle', from: 4, to: 5, sources: [3, 4, 5] },
    { title: 'Haystack' },
  ] as const
  const rows = chatLog('grows', steps).trimEnd().split('\n')

  test('is read on from where it ended, replacements of earlier messages included', async () => {
    const path = home.write(`${rows[0]}\n${rows[1]}\n`)
    await search('needle')
    for (let count = 2; count < rows.length; count++) {
      appendFileSync(path, `${rows[count]}\n`)
      const grown = await search('needle')
      expect(grown.bytesRead).toBe(`${rows[count]}\n`.length)
      const whole = await search('needle', { cached: false })
      expect([...grown.lines.values()]).toEqual([...whole.lines.values()])
      expect(grown.found).toEqual(whole.found)
      expect((await search('needle', { isCurrent: true })).lines).toEqual(
        (await search('needle', { isCurrent: true, cached: false })).lines,
      )
    }
    expect((await search('needle')).logsRead).toBe(0)
  })

  test('is put together again when it has grown many times', async () => {
    const many = Array.from({ length: 40 }, (_, index) => ({ user: `needle ${index}` }))
    const all = chatLog('many', many).trimEnd().split('\n')
    const path = home.write(`${all[0]}\n`)
    for (const row of all.slice(1)) {
      appendFileSync(path, `${row}\n`)
      await search('needle')
    }
    expect(texts(await search('needle'))).toEqual(many.map(({ user }) => user))
    // One pack or a few: old ones are put together.
    expect(readdirSync(cache).length).toBeLessThan(12)
  })

  test('in a torn row is read whole when the row is finished', async () => {
    const path = home.write(`${rows[0]}\n${rows[1]}\n${rows[2]?.slice(0, 30)}`)
    expect(texts(await search('needle'))).toEqual(['first needle'])
    appendFileSync(path, `${rows[2]?.slice(30)}\n`)
    expect(texts(await search('needle'))).toEqual(['first needle', 'second needle'])
  })

  test('has its name in the cache by its path only', async () => {
    const path = home.write(`${rows[0]}\n${rows[1]}\n`)
    await search('needle')
    expect(readFileSync(join(cache, 'texts'), 'latin1')).toContain(basename(path))
  })
})
