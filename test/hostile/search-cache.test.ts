// What real processes do to the kept texts of a search: a disk that fills up in the middle, an end by a signal, two at once.
// Whatever happens, the next search finds what one without a cache finds.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { chatLog } from '../support/chat-log.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM } from '../support/program.ts'

/** Logs, and characters of what each says: more than is gathered before anything is written. */
const LOGS = 6
const CHARACTERS = 1024 * 1024

let home: Home
let cache: string
let expected: string

const args = ['search', 'needle', '--format', 'json', '--limit', '100']

/** Runs a search in a process of its own, by way of a shell that may narrow what it can do. */
const search = (script = 'exec "$@"', more: readonly string[] = []) =>
  execa('bash', ['-c', script, 'bash', process.execPath, PROGRAM, ...args, ...more], {
    reject: false,
    input: '',
    env: { DSH_REF_ROOT: home.root, DSH_REF_CACHE_DIR: cache, DSH_SESSION_JSONL: '' },
  })

const packBytes = () =>
  readdirSync(cache)
    .filter((name) => name.endsWith('.pack'))
    .reduce((sum, name) => sum + (statSync(join(cache, name), { throwIfNoEntry: false })?.size ?? 0), 0)

beforeAll(async () => {
  home = makeHome()
  for (let index = 0; index < LOGS; index++) {
    const text = `needle ${index}\n${`line of ${index}\n`.repeat(CHARACTERS / 10)}`
    home.write(chatLog(`session-${index}`, [{ user: `question ${index}` }, { assistant: text }]))
  }
  cache = mkdtempSync(join(tmpdir(), 'dsh-ref-no-texts-'))
  const { stdout, exitCode } = await search(undefined, ['--no-cache'])
  rmSync(cache, { recursive: true })
  expected = stdout
  expect(exitCode).toBe(0)
  expect(JSON.parse(expected)).toHaveLength(LOGS)
})

beforeEach(() => {
  cache = mkdtempSync(join(tmpdir(), 'dsh-ref-texts-'))
})

afterEach(() => rmSync(cache, { recursive: true, force: true }))

afterAll(() => home.remove())

async function expectRight(): Promise<void> {
  const { exitCode, stdout, stderr } = await search()
  expect({ exitCode, isRight: stdout === expected, stderr }).toEqual({ exitCode: 0, isRight: true, stderr: '' })
}

describe.runIf(process.platform !== 'win32')('a search', () => {
  // In blocks of 1024 bytes: the first batch fits, or not even that; the index itself does not.
  test.each([6000, 1024, 1])(
    'finds the same when a file may have no more than %i KiB, and so does the next',
    async (size) => {
      const { exitCode, stdout, stderr } = await search(`ulimit -f ${size}; exec "$@"`)
      expect({ exitCode, isRight: stdout === expected, stderr }).toEqual({ exitCode: 0, isRight: true, stderr: '' })
      expect(packBytes()).toBe(0)
      await expectRight()
      await expectRight()
    },
  )

  test.each(['SIGINT', 'SIGTERM', 'SIGKILL'] as const)(
    'ended by %s while it writes leaves a cache that is right',
    async (signal) => {
      const child = spawn(process.execPath, [PROGRAM, ...args], {
        stdio: 'ignore',
        env: { ...process.env, DSH_REF_ROOT: home.root, DSH_REF_CACHE_DIR: cache, DSH_SESSION_JSONL: '' },
      })
      const exited = once(child, 'exit')
      while (packBytes() === 0 && child.exitCode === null) await setTimeout(1)
      child.kill(signal)
      await exited
      await expectRight()
      await expectRight()
    },
  )

  test('of two processes at once is right in both, and what they leave is', async () => {
    const both = await Promise.all([search(), search()])
    for (const { exitCode, stdout, stderr } of both) {
      expect({ exitCode, isRight: stdout === expected, stderr }).toEqual({ exitCode: 0, isRight: true, stderr: '' })
    }
    await expectRight()
    const kept = packBytes()
    expect(kept).toBeGreaterThan(0)
    await expectRight()
    // All texts are known by then: nothing more is written.
    expect(packBytes()).toBe(kept)
  })
})
