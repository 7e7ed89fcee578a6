// `dsh-ref pick` searching what was said, in a real terminal.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderPick } from '../../src/render/pick.ts'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { PROGRAM } from '../support/program.ts'
import { isInstalled, openTerminal, type Terminal } from '../support/terminal.ts'

const home = makeHome()
const directory = mkdtempSync(join(tmpdir(), 'dsh-ref-pick-said-'))
const out = join(directory, 'out')

beforeAll(() => {
  home.write(
    chatLog('login-fix', [
      { title: 'Fix the login redirect' },
      { user: 'Why?' },
      { assistant: 'First:\nA stale cookie is kept.\nThat is all.' },
      { assistant: 'Done.' },
    ]),
  )
  home.write(chatLog('untitled', [{ user: 'Where is the cookie jar?' }], '/work/shop'))
  home.write(chatLog('parser', [{ title: 'Parser work' }, { user: 'x' }]))
})
afterAll(() => {
  home.remove()
  rmSync(directory, { recursive: true, force: true })
})

const start = () =>
  openTerminal(
    `'${process.execPath}' '${PROGRAM}' pick --format id > '${out}.part'; mv '${out}.part' '${out}'; sleep 60`,
    { DSH_REF_ROOT: home.root, DSH_REF_CACHE_DIR: join(directory, 'cache'), DSH_SESSION_JSONL: '', HOME: directory },
  )

async function printed(terminal: Terminal): Promise<string> {
  for (let waited = 0; !existsSync(out) && waited < 300; waited++) await setTimeout(100)
  if (!existsSync(out)) throw new Error(`It did not end; the screen shows:\n${await terminal.screen()}`)
  return readFileSync(out, 'utf8')
}

describe.skipIf(!isInstalled('tmux'))('in a terminal (skipped without tmux: apt-get install tmux)', () => {
  test('finds what was said after a key, shows the lines, and goes back to titles when one types on', async () => {
    const terminal = await start()
    try {
      await terminal.waitFor('3 sessions, 0 of 3 marked')
      expect(await terminal.screen()).toContain('(no title) Where is the cookie jar?')
      expect(await terminal.screen()).toContain('Ctrl-F: in what was said')
      await terminal.press('C-f')
      await terminal.waitFor('Type what was said, then press Ctrl-F')
      await terminal.type('stale')
      await terminal.waitFor('0 sessions, ')
      await terminal.press('C-f')
      await terminal.waitFor('Said in 1 session, ')
      const screen = await terminal.waitFor('2:2 assistant  A stale cookie is kept.')
      expect(screen).toContain('> [ ] Fix the login redirect  login-fix  /work/app')
      expect(screen).toMatch(/First:\n.*A stale cookie is kept\.\n +That is all\./)
      await terminal.press('Tab')
      await terminal.waitFor('Said in 1 session, 1 of 3 marked')
      for (const _ of 'stale') await terminal.press('BSpace')
      await terminal.waitFor('3 sessions, 1 of 3 marked')
      await terminal.type('cookie')
      await terminal.waitFor('1 session, 1 of 3 marked')
      await terminal.press('C-f')
      await terminal.waitFor('Said in 2 sessions, 1 of 3 marked')
      await terminal.press('Enter')
      expect(await printed(terminal)).toBe('login-fix\n')
    } finally {
      await terminal.close()
    }
  })
})

test('says when only a name of a session holds the words', () => {
  const rows = [{ sessionId: 'a', name: 'Needle', isTitle: true, cwd: undefined }]
  const common = { omitted: 3, typed: 'needle', rows, cursor: 0, picked: new Set<string>(), preview: [], error: '' }
  const screen = renderPick({ ...common, said: { lines: [] }, columns: 80 })
  expect(screen).toContain('Said in 1 session, 0 of 3 marked')
  expect(screen).toContain('No line of it holds any of the words.')
  expect(renderPick({ ...common, said: { progress: 'Searching …' }, columns: 80 })).toContain('Searching …, 0 of 3')
})
