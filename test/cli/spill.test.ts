// The spill directory in a shell: where it is, what prepare saves and says, what list and prune print, and a killed save.
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
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { execa } from 'execa'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { listSpills } from '../../src/transcript/spill-store.ts'
import { decodeTranscript } from '../../src/transcript/transcript.ts'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { PROGRAM, run as runProgram } from '../support/program.ts'

const home = makeHome()
let temporary: string
let directory: string

beforeAll(() => {
  home.write(chatLog('source-one', [{ title: 'Bücher 书' }, { user: 'a'.repeat(2000) }]))
})

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'dsh-ref-cli-spill-'))
  directory = join(temporary, 'spill')
})

afterEach(() => rmSync(temporary, { recursive: true, force: true }))
afterAll(() => home.remove())

const environment = (extra: Record<string, string>) => ({
  HOME: temporary,
  XDG_STATE_HOME: '',
  DSH_REF_SPILL_DIR: '',
  DSH_REF_ROOT: home.root,
  ...extra,
})

async function run(args: readonly string[], env: Record<string, string> = {}) {
  const { stdout, stderr, status } = await runProgram(args, { cwd: temporary, env: environment(env) })
  return { stdout, stderr, exitCode: status }
}

const PREPARE = ['prepare', 'hello', '--ref', 'source-one', '--max-reference-bytes', '300', '--format', 'snapshot']

/** The `fullSnapshot` of the first omission. */
function fullSnapshot(snapshot: string) {
  const notice = /\n## Reference omissions\n\n.*\n\n(.*)\n$/s.exec(snapshot)?.[1]
  return JSON.parse(notice ?? '[]')[0]?.fullSnapshot
}

describe('prepare', () => {
  test('saves nowhere unless it is told to', async () => {
    const { stdout, stderr } = await run(PREPARE)
    expect(fullSnapshot(stdout)).toEqual({ status: 'unavailable', reason: 'storage-not-configured' })
    expect(stderr).toBe('')
    expect(readdirSync(temporary)).toEqual([])
  })

  test('saves into --spill-dir, else into $DSH_REF_SPILL_DIR', async () => {
    const named = fullSnapshot(
      (await run([...PREPARE, '--spill-dir', 'spill'], { DSH_REF_SPILL_DIR: '/nowhere' })).stdout,
    )
    const byEnvironment = fullSnapshot((await run(PREPARE, { DSH_REF_SPILL_DIR: directory })).stdout)
    for (const { status, locator, bytes, retrievalHint } of [named, byEnvironment]) {
      expect(status).toBe('saved')
      expect(dirname(dirname(locator))).toBe(directory)
      expect(statSync(locator)).toMatchObject({ size: bytes, mode: 0o100600 })
      expect(retrievalHint).toContain('dsh-ref transcript decode')
      expect(decodeTranscript(readFileSync(locator, 'utf8')).messages).toEqual([
        { role: 'user', text: 'a'.repeat(2000) },
      ])
    }
  })

  test.each([
    ['$XDG_STATE_HOME', 'state/dsh-ref/spill', () => ({ XDG_STATE_HOME: join(temporary, 'state') })],
    ['~/.local/state', '.local/state/dsh-ref/spill', () => ({ XDG_STATE_HOME: 'relative/counts/as/unset' })],
  ])('makes a private directory under %s for "auto"', async (_, path, env) => {
    const { locator } = fullSnapshot((await run([...PREPARE, '--spill-dir', 'auto'], env())).stdout)
    expect(locator.startsWith(`${join(temporary, path)}/session-`)).toBe(true)
    expect(statSync(join(temporary, path)).mode & 0o777).toBe(0o700)
    chmodSync(join(temporary, path), 0o755)
    await run(PREPARE, { ...env(), DSH_REF_SPILL_DIR: 'auto' })
    expect(statSync(join(temporary, path)).mode & 0o777).toBe(0o700)
  })

  test('takes the hash of the target into the name', async () => {
    const one = fullSnapshot((await run([...PREPARE, '--spill-dir', directory, '--target', 'target'])).stdout)
    expect(dirname(one.locator)).toBe(join(directory, 'session-34a04005bcaf206e'))
  })

  test.each([
    ['a file', () => writeFileSync(directory, '')],
    ['a link to nowhere', () => symlinkSync('/nowhere/at/all', directory)],
    [
      'a directory with a planted link',
      () => {
        mkdirSync(directory)
        mkdirSync(join(temporary, 'elsewhere'))
        symlinkSync(join(temporary, 'elsewhere'), join(directory, 'session-e3b0c44298fc1c14'))
      },
    ],
  ])('prints the message when the directory is %s, with one line about it', async (_, plant) => {
    plant()
    const failed = await run([...PREPARE, '--spill-dir', directory])
    expect(failed.exitCode).toBe(0)
    expect(fullSnapshot(failed.stdout)).toEqual({ status: 'unavailable', reason: 'save-failed' })
    expect(failed.stderr).toMatch(/^dsh-ref: 1 issue: spill failed.*\n$/)
    const strict = await run([...PREPARE, '--spill-dir', directory, '--strict'])
    expect(strict).toMatchObject({ exitCode: 4, stdout: '' })
    if (existsSync(join(temporary, 'elsewhere'))) expect(readdirSync(join(temporary, 'elsewhere'))).toEqual([])
  })

  test('saves nothing for a source that is whole', async () => {
    const { stdout } = await run(['prepare', '--ref', 'source-one', '--format', 'snapshot', '--spill-dir', directory])
    expect(stdout).not.toContain('Reference omissions')
    expect(existsSync(directory)).toBe(false)
  })

  test('never writes into a sessions root', async () => {
    symlinkSync(home.root, join(temporary, 'link'))
    for (const place of [home.root, join(home.root, 'spill'), join(temporary, 'link', 'deeper', 'spill')]) {
      const refused = await run([...PREPARE, '--spill-dir', place])
      expect(refused).toMatchObject({ exitCode: 2, stdout: '' })
      expect(refused.stderr).toMatch(/lies in the sessions root/)
    }
  })

  test('that is killed half-way leaves no transcript that is not whole', async () => {
    // Large enough to be caught in the middle of it.
    home.write(chatLog('large-source', [{ user: 'z'.repeat(8_000_000) }]))
    const args = ['prepare', '--ref', 'large-source', '--max-reference-bytes', '300', '--spill-dir', directory]
    for (const wait of [0, 10]) {
      const child = execa(process.execPath, [PROGRAM, ...args], { input: '', env: environment({}), reject: false })
      const before = namesBelow(directory).length
      while (child.exitCode === null && namesBelow(directory).length === before) await delay(2)
      await delay(wait)
      child.kill('SIGKILL')
      await child
    }
    for (const { path } of await listSpills(directory)) {
      expect(decodeTranscript(readFileSync(path, 'utf8')).messages).toHaveLength(1)
    }
    expect((await run(['spill', 'prune', '--older-than', '0s', '--spill-dir', directory])).exitCode).toBe(0)
    expect(namesBelow(directory)).toEqual([])
  })
})

function namesBelow(path: string): string[] {
  try {
    return readdirSync(path, { recursive: true, encoding: 'utf8' }).filter((name) => name.includes('.txt'))
  } catch {
    return [] // not made yet
  }
}

describe('spill', () => {
  const AGE = 10 * 86_400

  async function saveTwo(): Promise<{ old: string; young: string }> {
    const [old, young] = await Promise.all([
      run([...PREPARE, '--spill-dir', directory]),
      run([...PREPARE, '--spill-dir', directory]),
    ])
    const locators = {
      old: fullSnapshot(old.stdout).locator as string,
      young: fullSnapshot(young.stdout).locator as string,
    }
    const then = Date.now() / 1000 - AGE
    utimesSync(locators.old, then, then)
    return locators
  }

  test('list shows a table, oldest first', async () => {
    const { old, young } = await saveTwo()
    const { stdout, stderr, exitCode } = await run(['spill', 'list', '--spill-dir', directory])
    expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 })
    const [heading, ...rows] = stdout.trimEnd().split('\n')
    expect(heading).toMatch(/^SAVED +BYTES +LABEL +FILE$/)
    expect(rows.map((row) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +\d+ +Bücher 书 +(.*)$/.exec(row)?.[1])).toEqual([
      old,
      young,
    ])
  })

  test('list gives JSON with what each transcript is of', async () => {
    const { old, young } = await saveTwo()
    const { stdout } = await run(['spill', 'list', '--format', 'json'], { DSH_REF_SPILL_DIR: directory })
    const { transcripts, ...rest } = JSON.parse(stdout)
    expect(rest).toEqual({ schemaVersion: 1, directory })
    expect(transcripts).toEqual([
      {
        path: old,
        bytes: statSync(old).size,
        savedAt: expect.any(Number),
        capture: expect.objectContaining({ sessionId: 'source-one' }),
      },
      expect.objectContaining({ path: young }),
    ])
  })

  test('prune removes what is old enough and prints it', async () => {
    const { old, young } = await saveTwo()
    writeFileSync(join(directory, 'mine.txt'), '')
    const dryRun = await run(['spill', 'prune', '--older-than', '7d', '--dry-run', '--spill-dir', directory])
    expect(existsSync(old)).toBe(true)
    const pruned = await run(['spill', 'prune', '--older-than', '7d', '--spill-dir', directory])
    expect(pruned).toEqual({ stdout: `${old}\n`, stderr: '', exitCode: 0 })
    expect(dryRun).toEqual(pruned)
    expect([existsSync(old), existsSync(young)]).toEqual([false, true])
    const rest = await run(['spill', 'prune', '--older-than', '0s', '--format', 'json', '--spill-dir', directory])
    expect(JSON.parse(rest.stdout)).toMatchObject({
      schemaVersion: 1,
      directory,
      removed: [{ path: young }],
      issues: [],
    })
    expect(readdirSync(directory)).toEqual(['mine.txt'])
  })

  test.each(['', '7', 'd', '-1d', '1.5d', '7 days'])('prune refuses the age %j', async (age) => {
    expect(await run(['spill', 'prune', '--older-than', age])).toMatchObject({ exitCode: 2, stdout: '' })
  })

  test('prune wants an age', async () => {
    const { exitCode, stderr } = await run(['spill', 'prune'])
    expect(exitCode).toBe(2)
    expect(stderr).toMatch(/--older-than is missing/)
  })

  test('has nothing to show before anything is saved, but a directory that is named must be there', async () => {
    for (const args of [['list'], ['prune', '--older-than', '1d'], ['list', '--spill-dir', 'auto']]) {
      expect(await run(['spill', ...args])).toEqual({ stdout: '', stderr: '', exitCode: 0 })
    }
    const missing = await run(['spill', 'list', '--spill-dir', directory])
    expect(missing).toMatchObject({ exitCode: 4, stdout: '' })
    writeFileSync(directory, '')
    expect(await run(['spill', 'list', '--spill-dir', directory])).toMatchObject({ exitCode: 4, stdout: '' })
  })
})
