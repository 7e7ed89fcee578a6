// `prepare --dry-run` and `--explain`: what would be kept, and what it costs.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'
import { run } from '../support/program.ts'

const home = makeHome()
home.write(chatLog('long-session', [{ title: 'Bücher 书' }, { user: 'a'.repeat(300) }, { assistant: 'b'.repeat(200) }]))
const work = mkdtempSync(join(tmpdir(), 'dsh-ref-plan-'))

afterAll(() => {
  home.remove()
  rmSync(work, { recursive: true, force: true })
})

const prepare = (...args: string[]) =>
  run(['prepare', 'Hello', '--ref', 'long-session', '--max-reference-bytes', '400', ...args], {
    env: { DSH_REF_ROOT: home.root },
    cwd: work,
  })

describe('--dry-run', () => {
  test('prints the plan of each source and nothing else', async () => {
    const { stdout, stderr, status } = await prepare('--dry-run')
    expect({ stderr, status }).toEqual({ stderr: '', status: 0 })
    expect(stdout.split('\n')).toEqual([
      'LABEL        KEPT        DROPPED  BYTES   OF BUDGET  ~TOKENS',
      expect.stringMatching(/^Bücher 书 {2}1 of 2 {2}1 \(300 bytes\) +\d+ {2}400 \(\d+ %\) +\d+$/),
      '',
      expect.stringMatching(/^The snapshot has \d+ bytes, about \d+ tokens \(an estimate: bytes \/ 4\)\.$/),
      '',
    ])
  })

  test('gives JSON with the facts of the message itself', async () => {
    const plan = JSON.parse((await prepare('-n', '--format', 'json')).stdout)
    const { additionalContext } = JSON.parse((await prepare('--format', 'json')).stdout)
    const { inputIndex: _, ...facts } = additionalContext[0].source.references[0]
    expect(plan).toEqual({
      schemaVersion: 1,
      sources: [
        {
          ...facts,
          usedBytes: expect.any(Number),
          budgetBytes: 400,
          estimatedTokens: Math.ceil(plan.sources[0].usedBytes / 4),
        },
      ],
      message: { bytes: 5, estimatedTokens: 2 },
      snapshot: {
        bytes: Buffer.byteLength(additionalContext[0].content[0].text),
        estimatedTokens: Math.ceil(plan.snapshot.bytes / 4),
      },
    })
    expect(plan.sources[0].usedBytes).toBeLessThanOrEqual(400)
  })

  test('writes nothing, neither output nor transcript', async () => {
    await prepare('--dry-run', '--output', 'out.md', '--spill-dir', join(work, 'spill'))
    expect(existsSync(join(work, 'out.md'))).toBe(false)
    expect(readdirSync(work)).toEqual([])
  })

  test('says so when the message refers to no session', async () => {
    const { stdout } = await run(['prepare', 'Hello', '--dry-run'], { env: { DSH_REF_ROOT: home.root } })
    expect(stdout).toBe('The message refers to no session; it would be printed unchanged.\n')
  })

  test('fails as prepare itself would', async () => {
    expect(await prepare('--dry-run', '--ref', 'no-such-session')).toMatchObject({ status: 4, stdout: '' })
  })
})

describe('--explain', () => {
  test('says the same on stderr beside the real output', async () => {
    const [plain, explained, plan] = await Promise.all([
      prepare('--format', 'snapshot'),
      prepare('--format', 'snapshot', '--explain', '--quiet'),
      prepare('--dry-run'),
    ])
    expect(explained).toEqual({ status: 0, stdout: plain.stdout, stderr: plan.stdout })
  })
})
