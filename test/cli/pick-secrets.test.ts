// `dsh-ref pick` with secrets in what it offers: in a real terminal, the screen read back.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Home } from '../support/homes.ts'
import { LEAKY, leaksIn, makeLeakyHome } from '../support/leaky-home.ts'
import { PROGRAM } from '../support/program.ts'
import { isInstalled, openTerminal } from '../support/terminal.ts'

let home: Home
let directory: string
beforeAll(() => {
  home = makeLeakyHome()
  directory = mkdtempSync(join(tmpdir(), 'dsh-ref-pick-secrets-'))
})
afterAll(() => {
  home.remove()
  rmSync(directory, { recursive: true, force: true })
})

describe.skipIf(!isInstalled('tmux'))('pick (skipped without tmux: apt-get install tmux)', () => {
  test.each([
    ['--redact', '0', '@[Use [redacted:github-token\\] for login]'],
    ['--redact --prepare go', '0', '"label":"Use [redacted:github-token] for login"'],
    ['--redact --fail-on-secrets', '6', ''],
  ])('%s shows no piece of one on the screen, and prints none', async (options, status, printed) => {
    const files = mkdtempSync(join(directory, 'run-'))
    const [out, done] = [join(files, 'out'), join(files, 'done')]
    const command = `'${process.execPath}' '${PROGRAM}' pick ${options} > '${out}'; echo $? > '${done}.part'; mv '${done}.part' '${done}'; sleep 60`
    const env = {
      DSH_REF_ROOT: home.root,
      DSH_REF_CACHE_DIR: join(directory, 'cache'),
      DSH_SESSION_JSONL: '',
      HOME: files,
    }
    const terminal = await openTerminal(command, env)
    try {
      await terminal.waitFor(LEAKY)
      // The newest message is shown once the cursor has rested.
      const screen = await terminal.waitFor('assistant: I see')
      expect(leaksIn(screen.replaceAll('\n', ''))).toEqual([])
      expect(screen).toContain('[redacted:')
      await terminal.press('Enter')
      for (let waited = 0; !existsSync(done) && waited < 300; waited++) await setTimeout(100)
      expect(readFileSync(done, 'utf8').trim()).toBe(status)
      const stdout = readFileSync(out, 'utf8')
      expect(stdout).toContain(printed)
      expect(leaksIn(stdout + (await terminal.screen()).replaceAll('\n', ''))).toEqual([])
      if (printed === '') expect(stdout).toBe('')
    } finally {
      await terminal.close()
    }
  })
})
