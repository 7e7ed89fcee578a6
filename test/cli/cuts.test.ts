// What is cut is marked: in completion nothing, elsewhere with an ellipsis or a count.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderTable } from '../../src/render/candidates.ts'
import { renderPick } from '../../src/render/pick.ts'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'

const home = makeHome()
const cache = mkdtempSync(join(tmpdir(), 'dsh-ref-cache-'))
const env = { DSH_REF_CACHE_DIR: cache, DSH_REF_ROOT: home.root }
beforeAll(() => {
  for (let at = 0; at < 130; at++) home.write(chatLog(`s-${at}`, [{ user: 'a'.repeat(at === 0 ? 201 : 200) }]))
})
afterAll(() => {
  home.remove()
  rmSync(cache, { recursive: true })
})

describe('a cut', () => {
  test('is never made in what completion offers: shells take what all have in common', async () => {
    const { stdout } = await run(['__complete', 'bash', 'dsh-ref transcript s-', ' '], { env })
    expect(stdout.split('\n').filter((line) => line.startsWith('s-'))).toHaveLength(130)
  })

  test('by the limit of list says how many logs were not read', async () => {
    const { stderr } = await run(['list', '--health', 'ok', '--no-cache'], { env })
    expect(stderr).toBe(
      'dsh-ref: 50 of at least 64 sessions listed; 66 more were not read and may match; see all with --all\n',
    )
  })

  test('of a text in the table of surface ends with an ellipsis', async () => {
    expect((await run(['surface', 's-0'], { env })).stdout).toContain(`  ${'a'.repeat(200)}…\n`)
    expect((await run(['surface', 's-1'], { env })).stdout).toContain(`  ${'a'.repeat(200)}\n`)
  })

  test('of a label ends with an ellipsis, even when what is cut takes no columns', async () => {
    const row = { sessionId: 'x', label: `e${'\u0301'.repeat(2000)}`, sizeBytes: 1, formatVersion: 4, health: 'ok' }
    const look = { isLong: false, hasHeader: false, hasColor: false, columns: undefined, home: '/' }
    expect(await renderTable([row], look)).toMatch(/^e\u0301+… /)
  })

  test('of what pick offers is counted on its screen', () => {
    const screen = { typed: '', rows: [], cursor: 0, picked: new Set<string>(), preview: [], error: '', columns: 80 }
    expect(renderPick({ ...screen, omitted: 312 })).toContain('0 sessions (312 more not offered, see --limit), 0 of 3')
    expect(renderPick({ ...screen, omitted: 0 })).toContain('0 sessions, 0 of 3')
  })
})
