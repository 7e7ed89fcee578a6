// The configuration file behind options and environment, and `dsh-ref config`.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { type RunOptions, run } from '../support/program.ts'

const home = makeHome()
home.write(chatLog('configured', [{ user: 'x'.repeat(1000) }]))
const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-config-'))
const file = join(directory, 'dsh-ref.json')

beforeEach(() => rmSync(file, { force: true }))
afterAll(() => {
  home.remove()
  rmSync(directory, { recursive: true, force: true })
})

const write = (config: unknown) => writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config))

const runHere = (args: readonly string[], env: Record<string, string> = {}, options: RunOptions = {}) =>
  run(args, {
    ...options,
    env: { XDG_CONFIG_HOME: directory, DSH_REF_CACHE_DIR: '', DSH_REF_SPILL_DIR: '', HOME: directory, ...env },
  })

const settings = async (args: readonly string[] = [], env: Record<string, string> = {}) =>
  JSON.parse((await runHere(['config', '--format', 'json', ...args], env)).stdout).settings

const dryRun = async (...args: string[]) =>
  JSON.parse((await runHere(['prepare', '--ref', 'configured', '--dry-run', '--format', 'json', 'x', ...args])).stdout)
    .sources[0].budgetBytes

describe('config', () => {
  test('prints what holds and where it comes from', async () => {
    write({ roots: ['sessions'], maxReferences: 2 })
    mkdirSync(join(directory, 'sessions'), { recursive: true })
    expect(await settings()).toMatchObject({
      roots: { value: [join(directory, 'sessions')], from: 'file' },
      maxReferences: { value: 2, from: 'file' },
      referenceContextFraction: { value: 0.2, from: 'default' },
    })
    expect(await settings([], { DSH_REF_ROOT: '/x', DSH_REF_SPILL_DIR: '/y' })).toMatchObject({
      roots: { value: ['/x'], from: 'DSH_REF_ROOT' },
      spillDir: { value: '/y', from: 'DSH_REF_SPILL_DIR' },
    })
    expect(await settings(['--root', '/z'], { DSH_REF_ROOT: '/x' })).toMatchObject({
      roots: { value: ['/z'], from: '--root' },
    })
    const { stdout } = await runHere(['config'])
    expect(stdout).toMatch(/^SETTING +VALUE +FROM\nroots +\S+sessions +file\n/)
    expect(stdout).toContain(`\nFile: ${file}\n`)
  })

  test('says that there is no file', async () => {
    expect((await runHere(['config'])).stdout).toContain(`File: ${file} (not there)\n`)
  })
})

describe('dsh-ref.json', () => {
  test('sets what no option sets', async () => {
    write({ roots: [home.root], maxReferenceBytes: 500, contextWindow: 1_000_000 })
    expect(await dryRun()).toBe(500)
    expect(await dryRun('--max-reference-bytes', '600')).toBe(600)
    expect(await dryRun('--context-window', '1000000')).toBe(800_000)
    write({ roots: [home.root], contextWindow: 1_000_000 })
    expect(await dryRun()).toBe(800_000)
  })

  test.each([
    [{ maxRefs: 1 }, /Key "maxRefs" in .* is unknown; the keys are roots, /],
    [{ maxReferences: 4 }, /Key "maxReferences" in .* is wrong; give a whole number from 1 to 3/],
    [{ roots: 'x' }, /Key "roots" in .* is wrong; give a list of paths/],
    [[], /holds no JSON object/],
    ['{', /cannot be read: /],
  ])('that is %j is refused by every command, with status 2', async (config, message) => {
    write(config)
    for (const args of [['config'], ['list'], ['uri', 'encode', 'x']]) {
      const { status, stdout, stderr } = await runHere(args)
      expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
      expect(stderr).toMatch(message)
    }
    expect((await runHere(['--help'])).status).toBe(0)
  })
})
