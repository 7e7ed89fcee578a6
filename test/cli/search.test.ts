// `dsh-ref search` in a shell: its formats, its exit status, and that its ids lead on.

import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { type RunOptions, run } from '../support/program.ts'

const home = makeHome()
const cache = mkdtempSync(join(tmpdir(), 'dsh-ref-search-'))

beforeAll(() => {
  home.write(
    chatLog('loops', [
      { title: 'Login' },
      { user: 'Why this redirect loop?\n\nIt began today.\nIt loops on.' },
      { assistant: `${'x'.repeat(3000)} loop ${'y'.repeat(3000)}` },
      { checkpoint: 'The loop is gone', from: 1, to: 2, sources: [1, 2] },
      { user: 'loop 1\nloop 2\nloop 3\nloop 4' },
    ]),
  )
  home.write(chatLog('untitled', [{ user: 'a loop\nwithout a title' }], '/work/other'))
})

afterAll(() => {
  home.remove()
  rmSync(cache, { recursive: true, force: true })
})

const search = (args: readonly string[], options: RunOptions = {}) =>
  run(['search', ...args, '--root', home.root], {
    ...options,
    env: { DSH_REF_CACHE_DIR: cache, TZ: 'UTC', ...options.env },
  })

test('prints sessions with their best lines, what surrounds them, and how many more there are', async () => {
  expect(await search(['redirect', 'loop'])).toEqual({
    status: 0,
    stderr: '',
    stdout: [
      'Login  loops  /work/app  1970-01-01 00:00',
      '    1:1 user, replaced       Why this redirect loop?',
      '                             It began today.',
      '                             It began today.',
      '    1:4 user, replaced       It loops on.',
      `    2:1 assistant, replaced  ${'x'.repeat(249)} loop ${'y'.repeat(745)}`,
      '    and 5 more matching lines',
      '',
    ].join('\n'),
  })
})

test('marks a session without a title, and shows how it began', async () => {
  const { stdout } = await search(['loop', '--cwd', '/work/other', '--context', '0'])
  expect(stdout).toBe(
    '(no title) a loop without a title  untitled  /work/other  1970-01-01 00:00\n    0:1 user  a loop\n',
  )
})

test.each([
  [['-l'], 'loops\nuntitled\n'],
  [['--format', 'id', '--limit', '1'], 'loops\n'],
  [['-l', '-0'], 'loops\0untitled\0'],
  [['-c'], 'loops:8\nuntitled:1\n'],
  [['--format', 'uri'], 'dsh-session:Imxvb3BzIg\ndsh-session:InVudGl0bGVkIg\n'],
  [['--format', 'mention'], '@[Login](dsh-session:Imxvb3BzIg)\n@[untitled](dsh-session:InVudGl0bGVkIg)\n'],
  [['-c', '--current'], 'loops:5\nuntitled:1\n'],
  [['-c', '--role', 'assistant'], 'loops:1\n'],
  [['-c', '-w'], 'loops:7\nuntitled:1\n'],
])('%j prints %j', async (options, stdout) => {
  expect(await search(['loop', ...options])).toMatchObject({ status: 0, stdout })
})

test('prints every match in JSON, with what leads to it', async () => {
  const [loops] = JSON.parse((await search(['Redirect loop', '-i', '--format', 'json'])).stdout)
  expect(loops).toMatchObject({ sessionId: 'loops', title: 'Login', matchingLines: 8, namedBy: ['id'] })
  expect(loops.matches[0]).toEqual({
    seq: 1,
    role: 'user',
    checkpoint: false,
    shadowedBySeq: 3,
    line: 1,
    text: 'Why this redirect loop?',
    ranges: [
      [9, 17],
      [18, 22],
    ],
  })
  const { text, textOffset, ranges } = loops.matches[2]
  expect([text.length, text.slice(...ranges[0]), textOffset]).toEqual([4096, 'loop', 1910])
  const lines = (await search(['loop', '--format', 'jsonl'])).stdout.trimEnd().split('\n')
  expect(lines.map((line) => JSON.parse(line).sessionId)).toEqual(['loops', 'untitled'])
})

test('leads on to prepare', async () => {
  const id = (await search(['-l', '--limit', '1', 'redirect loop'])).stdout.trimEnd()
  const { status, stdout } = await run(['prepare', '--root', home.root, '--ref', id, 'Go on.'])
  expect([status, stdout.includes('The loop is gone')]).toEqual([0, true])
})

describe('the exit status', () => {
  test('is 1 when nothing is found, in every format', async () => {
    for (const format of ['table', 'tsv', 'json', 'jsonl', 'id', 'uri', 'mention', 'path']) {
      const outcome = await search(['no such thing', '--format', format])
      expect(outcome).toMatchObject({ status: 1, stdout: format === 'json' ? '[]\n' : '' })
    }
  })

  test.each([
    [['']],
    [['-e', '(']],
    [['x', '--role', 'system']],
    [['x', '-0']],
    [['x', '-l', '--format', 'json']],
    [['x', '--tools', '--role', 'user']],
    [['x', '--since', 'tomorrow']],
    [[]],
  ])('is 2 for %j', async (args) => {
    expect(await search(args)).toMatchObject({ status: 2, stdout: '' })
  })

  test('is 4 when there is no place to search', async () => {
    expect(await run(['search', 'x', '--root', join(home.root, 'nowhere')])).toMatchObject({ status: 4, stdout: '' })
  })
})

test('keeps nothing with --no-cache', async () => {
  const other = mkdtempSync(join(tmpdir(), 'dsh-ref-search-'))
  await search(['loop', '--no-cache'], { env: { DSH_REF_CACHE_DIR: other } })
  expect(readdirSync(other)).toEqual([])
  rmSync(other, { recursive: true })
})
