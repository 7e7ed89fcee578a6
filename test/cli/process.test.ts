// The built program in a process of its own: every command does there, to the byte, what it does in the process of the tests,
// in which most of them run it (support/program.ts). Signals, pipes and full disks are in main.test.ts and hostile/outputs.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { COMMAND_NAMES, everyCommand, type Places } from '../support/every-command.ts'
import { type Home, makeHome } from '../support/homes.ts'
import { run, runProcess } from '../support/program.ts'
import { assistant, logOf, replacing, user } from '../support/rows.ts'

const COMPACT = { kind: 'plugin', plugin: 'compact', compactionId: 'c' }

let home: Home
let work: string
let places: Places

beforeAll(async () => {
  home = makeHome()
  work = mkdtempSync(join(tmpdir(), 'dsh-ref-process-'))
  const rows = [user('old'), user('summary', replacing(4, 0, 0, [0]), COMPACT), assistant('a 书 😀'.repeat(300))]
  home.write(logOf(4, rows, { id: 'the-session' }))
  const damagedLog = join(work, 'damaged.jsonl')
  writeFileSync(damagedLog, logOf(4, [user('a'), user('b', { surfaceOp: 7 })]))
  const artifact = join(work, 'artifact.txt')
  places = { root: home.root, session: 'the-session', damagedLog, artifact, spillDir: join(work, 'spill') }
  mkdirSync(places.spillDir)
  writeFileSync(artifact, (await run(['transcript', 'the-session', '--root', home.root])).stdout)
})

afterAll(() => {
  home.remove()
  rmSync(work, { recursive: true, force: true })
})

test.each(COMMAND_NAMES)('%s gives in its own process what it gives in this one', async (name) => {
  const env = { HOME: work, DSH_REF_CACHE_DIR: join(work, 'cache'), DSH_REF_SPILL_DIR: '' }
  const [first, ...more] = everyCommand(places)[name] ?? []
  const { args = [], input = '' } = more.at(-1) ?? first ?? {}
  const outcome = await runProcess(args, { input, env, cwd: work })
  expect(await run(args, { input, env, cwd: work })).toEqual(outcome)
  // Pruning prints what it removes, which is nothing when nothing is there.
  if (name !== 'spill prune') expect(outcome.stdout + outcome.stderr).not.toBe('')
})

test.each([[['--version']], [['help']], [[]], [['lst']], [['uri', 'decode', 'x', '--error-format', 'json']]])(
  '%j gives in its own process what it gives in this one',
  async (args) => {
    const outcome = await runProcess(args)
    expect(await run(args)).toEqual(outcome)
  },
)

test('standard input and the environment come in alike', async () => {
  const options = { input: logOf(4, [user('from a pipe')], { id: 'piped' }), env: { FORCE_COLOR: '1', HOME: work } }
  const outcome = await runProcess(['check', `path:${places.damagedLog}`], options)
  expect(outcome.stdout).toContain('\u001b[')
  expect(await run(['check', `path:${places.damagedLog}`], options)).toEqual(outcome)
  const piped = await runProcess(['transcript', '-', '--format', 'text'], options)
  expect(piped.stdout).toContain('from a pipe')
  expect(await run(['transcript', '-', '--format', 'text'], options)).toEqual(piped)
})
