// Logs in a container that DSH never writes: one frame for everything, or bytes that are stored otherwise than the name says.
// They are told by their first bytes, refused where DSH refuses them, and read by --salvage, which says so.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Home, makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'
import { assistant, logOf, user } from '../support/rows.ts'
import { rawBlocks, writeFrame } from '../support/zstd-writer.ts'

const LOG = logOf(4, [user('a question'), assistant('an answer'), user('more')], { id: 'packed', cwd: '/w' })
const [HEADER = '', ...ROWS] = LOG.split(/(?<=\n)/)
const frame = (...rows: string[]) => writeFrame(rawBlocks(rows.join('')))

/** As DSH writes it. */
const PROPER = Buffer.concat([frame(HEADER), frame(...ROWS)])
/** As packing tools write it. */
const ONE_FRAME = frame(LOG)
const FULL_FIRST_FRAME = Buffer.concat([frame(HEADER, ROWS[0] ?? ''), frame(...ROWS.slice(1))])

let home: Home
let desk: string
beforeAll(() => {
  home = makeHome()
  desk = mkdtempSync(join(tmpdir(), 'dsh-ref-repacked-'))
})
afterAll(() => {
  home.remove()
  rmSync(desk, { recursive: true, force: true })
})

function onDesk(name: string, bytes: Uint8Array | string): string {
  const path = join(desk, name)
  writeFileSync(path, bytes)
  return path
}

/** Every way in which commands read a log at `path`, or on standard input. */
function readings(path: string): readonly string[][] {
  const ref = path === '-' ? ['hi', '--ref', '-'] : ['hi', '--ref', path]
  return [
    ['prepare', ...ref],
    ['surface', path],
    ['transcript', path, '--format', 'text'],
    ['transcript', 'grep', 'quest', path],
  ]
}

describe('a log whose first frame holds more than the header', () => {
  test.each([
    ['one frame', ONE_FRAME],
    ['a full first frame and another', FULL_FIRST_FRAME],
  ])('(%s) is refused, and read whole by --salvage, which says so', async (what, bytes) => {
    const path = onDesk(`${what.replaceAll(' ', '-')}.jsonl.zstd`, bytes)
    for (const source of [path, '-']) {
      const input = source === '-' ? { input: bytes } : {}
      for (const args of readings(source)) {
        const refused = await run(args, input)
        expect({ args, status: refused.status, stdout: refused.stdout }).toEqual({ args, status: 4, stdout: '' })
        expect(refused.stderr).toContain('--salvage')
        const salvaged = await run([...args, '--salvage'], input)
        expect({ args, status: salvaged.status }).toEqual({ args, status: 0 })
        expect(salvaged.stdout).toContain('question')
        expect(salvaged.stderr).toContain('salvaged')
      }
    }
    expect((await run(['check', path])).status).toBe(4)
    const { degraded } = JSON.parse((await run(['surface', path, '--salvage', '--format', 'json'])).stdout)
    expect(degraded).toMatchObject({ throughSeq: 2, frame: 1 })
  })
})

describe('a name that DSH never gives', () => {
  test.each([
    ['copy.jsonl.zst', PROPER],
    ['copy.jsonl', PROPER],
    ['raw.jsonl.zstd', LOG],
    ['log', PROPER],
  ])('says nothing of the bytes: %s', async (name, bytes) => {
    const path = onDesk(name, bytes)
    for (const args of readings(path)) {
      const { status, stdout, stderr } = await run(args)
      expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: '' })
      expect(stdout).toContain('question')
    }
    expect((await run(['check', path])).status).toBe(0)
  })

  test('is a path when it ends in .jsonl.zst', async () => {
    onDesk('here.jsonl.zst', PROPER)
    expect((await run(['transcript', 'here.jsonl.zst', '--format', 'text'], { cwd: desk })).stdout).toContain(
      'question',
    )
  })

  test('and standard input has none: zstd bytes on it are read', async () => {
    for (const args of readings('-')) {
      const { status, stdout, stderr } = await run(args, { input: PROPER })
      expect({ args, status, stderr }).toEqual({ args, status: 0, stderr: '' })
      expect(stdout).toContain('question')
    }
  })
})

describe('a name that stands for other bytes than there are', () => {
  test.each([
    ['zstd frames', PROPER, 'session.v4.jsonl'],
    ['plain rows', Buffer.from(LOG), 'session.v4.jsonl.zstd'],
  ])('(%s) is refused, with what they are, and --salvage reads them', async (what, bytes, name) => {
    const own = makeHome()
    const path = own.write(bytes, { project: '--w--', session: 'packed', name })
    for (const source of ['packed', path]) {
      const args = ['transcript', source, '--root', own.root, '--format', 'text']
      const refused = await run(args)
      expect({ status: refused.status, stdout: refused.stdout }).toEqual({ status: 4, stdout: '' })
      expect(refused.stderr).toContain(`holds ${what}`)
      expect(refused.stderr).toContain('--salvage')
      const salvaged = await run([...args, '--salvage'])
      expect(salvaged).toMatchObject({ status: 0, stderr: expect.stringContaining('salvaged') })
      expect(salvaged.stdout).toContain('question')
    }
    expect((await run(['check', path])).stdout).toContain(`holds ${what}`)
    own.remove()
  })
})
