// Case 6 of issue 5: a reader that stops reading, and a disk that is full, for every command that prints.

import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import pLimit from 'p-limit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { COMMAND_NAMES, type CommandRun, everyCommand, type Places } from '../support/every-command.ts'
import { chosenOf } from '../support/exhaustive.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { PROGRAM, run } from '../support/program.ts'
import { assistant, logOf, logOnly, replacing, user } from '../support/rows.ts'

let home: Home
let work: string
let places: Places

beforeAll(async () => {
  home = makeHome()
  work = mkdtempSync(join(tmpdir(), 'dsh-ref-outputs-'))
  // More than a pipe holds, so that what is not read cannot be written either.
  const rows = [user('old'), user('new', replacing(4, 0, 0, [0]), { kind: 'compact-checkpoint' })]
  for (let index = 0; index < 300; index++)
    rows.push(user(`${index} ${'a b c '.repeat(80)}`), assistant('a'.repeat(100)))
  home.write(logOf(4, rows, { id: 'long-session' }))
  for (let index = 0; index < 40; index++) home.write(logOf(4, [user('x')], { id: `session-${index}` }))
  const damagedLog = join(work, 'damaged.jsonl')
  writeFileSync(damagedLog, logOf(4, [user('a'.repeat(500)), user('b', { surfaceOp: 1 }), logOnly('turn/end')]))
  const artifact = join(work, 'artifact.txt')
  writeFileSync(artifact, (await run(['transcript', 'long-session', '--root', home.root])).stdout)
  places = { root: home.root, session: 'long-session', damagedLog, artifact, spillDir: join(work, 'spill') }
  mkdirSync(places.spillDir)
})

afterAll(() => {
  home.remove()
  rmSync(work, { recursive: true, force: true })
})

/** Runs bash with the command line of a run as its arguments. */
const shell = (script: string, args: readonly string[], input = '') =>
  execa('bash', ['-c', script, 'bash', process.execPath, PROGRAM, ...args], {
    reject: false,
    input,
    env: { HOME: work, DSH_REF_CACHE_DIR: join(work, 'cache'), DSH_SESSION_JSONL: '', DSH_REF_SPILL_DIR: '' },
  })

test('every command has a run here', () => {
  const names = Object.keys(everyCommand({ root: '', session: '', damagedLog: '', artifact: '', spillDir: '' }))
  expect(COMMAND_NAMES.filter((name) => !names.includes(name))).toEqual([])
})

/** All runs that print; made late, for the places are known then. */
function* printingRuns(): Generator<readonly [string, CommandRun]> {
  for (const [name, runs] of Object.entries(everyCommand(places))) {
    // Pruning prints what it removes, which is nothing when nothing is there.
    for (const run of runs) if (!run.isRefused && !name.startsWith('spill ')) yield [name, run]
  }
  yield ['--help', { args: ['--help'] }]
  yield ['--version', { args: ['--version'] }]
}

describe.runIf(process.platform !== 'win32')('every command that prints', () => {
  const limit = pLimit(4)

  test('ends quietly with its own status when the reader stops after ten bytes', async () => {
    // The way out is one for all formats of a command.
    const runs = chosenOf([...new Map(printingRuns())], [...printingRuns()])
    const outcomes = runs.map(([name, { args, input }]) =>
      limit(async () => {
        const { stdout, stderr } = await shell(`"$@" | head -c 10 | wc -c; echo "\${PIPESTATUS[0]}"`, args, input)
        const [bytes, status] = stdout.split('\n').map(Number) as [number, number]
        // A damaged log stays status 4 for check, whoever reads along.
        const due = name === 'check' && !args.includes('--all') ? 4 : 0
        expect({ args, status, isRead: bytes > 0 && bytes <= 10 }).toEqual({ args, status: due, isRead: true })
        expect(stderr).not.toMatch(/EPIPE|bug|\n {4}at /)
      }),
    )
    expect(outcomes.length).toBeGreaterThan(chosenOf(12, 25))
    await Promise.all(outcomes)
  }, 300_000)

  test.runIf(existsSync('/dev/full'))(
    'is status 4 and says so when the disk is full, never status 0',
    async () => {
      const runs = new Map(printingRuns())
      expect(runs.size).toBeGreaterThan(12)
      const outcomes = [...runs.values()].map(({ args, input }) =>
        limit(async () => {
          const { exitCode, stderr } = await shell('exec "$@" > /dev/full', args, input)
          expect({ args, exitCode }).toEqual({ args, exitCode: 4 })
          expect(stderr).toMatch(/dsh-ref: Cannot write to standard output \(ENOSPC.*\[SESSION_REFERENCE_READ_FAILED\]/)
          expect(stderr).not.toMatch(/\n {4}at /)
        }),
      )
      await Promise.all(outcomes)
    },
    300_000,
  )
})

describe('--output', () => {
  const prepare = (script: string, output: string) =>
    shell(script, ['prepare', 'go', '--ref', 'long-session', '--root', home.root, '--output', output])

  test.runIf(process.platform !== 'win32')(
    'on a disk that takes only the beginning is status 4, and no file',
    async () => {
      const directory = mkdtempSync(join(work, 'small-'))
      const { exitCode, stdout, stderr } = await prepare('ulimit -f 8; exec "$@"', join(directory, 'out.md'))
      expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' })
      expect(stderr).toMatch(/^dsh-ref: Cannot write .*out\.md \(EFBIG\)/)
      expect(readdirSync(directory)).toEqual([])
    },
  )

  test.runIf(process.platform !== 'win32').each(['fifo', 'link to a fifo'])(
    'to a %s is refused and leaves it there, for a rename would replace it',
    async (kind) => {
      const directory = mkdtempSync(join(work, 'fifo-'))
      const output = join(directory, 'out')
      await execa('mkfifo', [kind === 'fifo' ? output : join(directory, 'fifo')])
      if (kind !== 'fifo') await execa('ln', ['-s', 'fifo', output])
      const before = (await execa('ls', ['-l', directory])).stdout
      const { exitCode, stdout, stderr } = await prepare('exec "$@"', output)
      expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' })
      expect(stderr).toMatch(/out is no regular file, and writing would replace it/)
      expect((await execa('ls', ['-l', directory])).stdout).toBe(before)
    },
  )
})
