// The spill directory, with real files: what is written and for whom, what is never followed, what fails and what stays.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
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
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DshRefError } from '../../src/errors.ts'
import { prepare } from '../../src/pipeline.ts'
import { renderTranscript } from '../../src/render/transcript.ts'
import { type SpillOptions, spillTo } from '../../src/transcript/spill.ts'
import { listSpills, pruneSpills } from '../../src/transcript/spill-store.ts'
import { decodeTranscript } from '../../src/transcript/transcript.ts'
import { chatLog } from '../support/chat-log.ts'
import { makeHome } from '../support/homes.ts'

const NOBODY = 65_534
const isRoot = process.geteuid?.() === 0

const content = {
  targetId: 'target',
  position: 2,
  capture: { sessionId: 's', label: 'Work', cwd: '/w', capturedThroughSeq: 7 },
  messages: [{ role: 'user', text: 'Hello 😀\r\n'.repeat(50) }],
} as const
const artifact = renderTranscript(content.capture, content.messages)

/** `sha256("target")`, its first 16 digits. */
const SESSION = 'session-34a04005bcaf206e'

const save = (directory: string, options: Partial<SpillOptions> = {}) =>
  spillTo(directory, { render: renderTranscript, ...options })(content)

/** Every name below a directory, sorted. */
const below = (directory: string) => readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()

const modeOf = (path: string) => statSync(path).mode & 0o777

async function refusal(saving: Promise<unknown>): Promise<DshRefError> {
  const error = await saving.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof DshRefError)) throw new Error(`No refusal but ${String(error)}`)
  expect(error.code).toBe('SESSION_REFERENCE_READ_FAILED')
  return error
}

let temporary: string
let root: string

beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'dsh-ref-spill-'))
  root = join(temporary, 'spill')
})

afterEach(() => {
  rmSync(temporary, { recursive: true, force: true })
})

describe('saving', () => {
  test('writes the artifact where the target and the position say, and nothing else', async () => {
    const saved = await save(root)
    expect(dirname(saved.locator)).toBe(join(root, SESSION))
    expect(saved.locator).toMatch(/\/[0-9a-f]{24}-session-reference-2\.txt$/)
    expect(readFileSync(saved.locator, 'utf8')).toBe(artifact)
    expect(saved.bytes).toBe(statSync(saved.locator).size)
    expect(decodeTranscript(readFileSync(saved.locator, 'utf8')).messages).toEqual(content.messages)
    expect(below(root)).toEqual([SESSION, saved.locator.slice(root.length + 1)])
  })

  test('closes directories and file to others, whatever the umask', async () => {
    const before = process.umask(0)
    try {
      const { locator } = await save(join(root, 'deeper'))
      expect([root, join(root, 'deeper'), dirname(locator)].map(modeOf)).toEqual([0o700, 0o700, 0o700])
      expect(modeOf(locator)).toBe(0o600)
    } finally {
      process.umask(before)
    }
  })

  test('leaves the mode of a directory that was there, but for its own', async () => {
    mkdirSync(join(root, SESSION), { recursive: true })
    chmodSync(root, 0o755)
    chmodSync(join(root, SESSION), 0o755)
    await save(root)
    expect([modeOf(root), modeOf(join(root, SESSION))]).toEqual([0o755, 0o700])
    await save(root, { isPrivate: true })
    expect(modeOf(root)).toBe(0o700)
  })

  test('makes a new file each time', async () => {
    const [one, other] = await Promise.all([save(root), save(root)])
    expect(one.locator).not.toBe(other.locator)
    expect(below(root)).toHaveLength(3)
  })

  test('goes on when the directory is pruned away under its hand', async () => {
    const saves = Array.from({ length: 20 }, () => save(root))
    const prunes = Array.from({ length: 20 }, () => pruneSpills(root, Number.MAX_SAFE_INTEGER).catch(() => undefined))
    await Promise.all([...saves, ...prunes])
    expect(await listSpills(root)).toHaveLength(20)
  })

  test('takes any id of a target', async () => {
    const spill = spillTo(root, { render: renderTranscript })
    for (const targetId of ['', '../../x', '\ud800', 'a'.repeat(5000)]) {
      const { locator } = await spill({ ...content, targetId })
      expect(locator.slice(root.length)).toMatch(/^\/session-[0-9a-f]{16}\/[0-9a-f]{24}-session-reference-2\.txt$/)
    }
  })
})

describe('a planted', () => {
  const names = ['1'.repeat(24), '2'.repeat(24)]
  const taken = (suffix = '') => join(root, SESSION, `${names[0]}-session-reference-2.txt${suffix}`)
  const inTurn = () => {
    const left = [...names]
    return { randomHex: () => left.shift() ?? '' }
  }
  let elsewhere: string

  beforeEach(() => {
    elsewhere = join(temporary, 'elsewhere')
    mkdirSync(elsewhere)
    mkdirSync(join(root, SESSION), { recursive: true })
  })

  test.each(['', '.tmp'])('file (%j) is left alone and another name taken', async (suffix) => {
    writeFileSync(taken(suffix), 'planted')
    const { locator } = await save(root, inTurn())
    expect(locator).toContain(names[1])
    expect(readFileSync(taken(suffix), 'utf8')).toBe('planted')
    expect(readFileSync(locator, 'utf8')).toBe(artifact)
  })

  test.each(['', '.tmp'])('link (%j) is not followed and another name taken', async (suffix) => {
    const victim = join(elsewhere, 'victim')
    symlinkSync(victim, taken(suffix))
    const { locator } = await save(root, inTurn())
    expect(locator).toContain(names[1])
    expect(existsSync(victim)).toBe(false)
    expect(lstatSync(taken(suffix)).isSymbolicLink()).toBe(true)
  })

  test('file under every name makes the save fail', async () => {
    writeFileSync(taken(), 'planted')
    const { facts } = await refusal(save(root, { randomHex: () => names[0] as string }))
    expect(facts.errno).toBe('EEXIST')
    expect(below(join(root, SESSION))).toEqual([taken().slice(taken().lastIndexOf('/') + 1)])
  })

  test('link in the place of the session directory is not followed', async () => {
    rmSync(join(root, SESSION), { recursive: true })
    symlinkSync(elsewhere, join(root, SESSION))
    const { facts } = await refusal(save(root))
    expect(facts.errno).toMatch(/^(ENOTDIR|ELOOP)$/)
    expect(readdirSync(elsewhere)).toEqual([])
  })

  test('link in the place of the private directory is not followed', async () => {
    rmSync(root, { recursive: true })
    symlinkSync(elsewhere, root)
    await refusal(save(root, { isPrivate: true }))
    expect(readdirSync(elsewhere)).toEqual([])
    // A directory that somebody names may be reached by a link.
    await save(root)
    expect(readdirSync(elsewhere)).toEqual([SESSION])
  })

  test('file in the place of the session directory makes the save fail', async () => {
    rmSync(join(root, SESSION), { recursive: true })
    writeFileSync(join(root, SESSION), 'planted')
    expect((await refusal(save(root))).facts.errno).toBe('ENOTDIR')
  })

  test.skipIf(!isRoot)('directory of another user makes the save fail (needs root, to plant one)', async () => {
    chownSync(join(root, SESSION), NOBODY, NOBODY)
    expect((await refusal(save(root))).facts.errno).toBe('EPERM')
    expect(readdirSync(join(root, SESSION))).toEqual([])
  })
})

describe('a failed save', () => {
  test('names the file in the place of the directory', async () => {
    writeFileSync(root, 'a file')
    const { message, facts } = await refusal(save(root))
    expect(message).toMatch(/Cannot save the transcript as .* \(EEXIST\)/)
    expect(facts).toMatchObject({ reason: 'unreadable', errno: 'EEXIST' })
    expect((await refusal(save(join(root, 'deeper')))).facts.errno).toBe('ENOTDIR')
  })

  test('for want of permission leaves nothing', async () => {
    chmodSync(temporary, 0o755)
    mkdirSync(root)
    chmodSync(root, 0o555)
    // Root may write anywhere, so the save runs as nobody.
    if (isRoot) process.seteuid?.(NOBODY)
    try {
      expect((await refusal(save(root))).facts.errno).toBe('EACCES')
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
    expect(below(root)).toEqual([])
  })

  test('is a bug when the rendering fails, and no refusal', async () => {
    const render = () => {
      throw new TypeError('broken')
    }
    await expect(spillTo(root, { render })(content)).rejects.toThrow(TypeError)
    expect(existsSync(root)).toBe(false)
  })
})

describe('a full disk', () => {
  const disk = mkdtempSync(join(tmpdir(), 'dsh-ref-disk-'))
  const isMounted = mountSmall(disk)
  const reason = 'skipped where a tmpfs cannot be mounted'

  function mountSmall(directory: string): boolean {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', directory], { stdio: 'ignore' })
      return true
    } catch {
      return false // no root, no mount command, or a container that may not
    }
  }

  afterAll(() => {
    if (isMounted) execFileSync('umount', [disk])
    rmSync(disk, { recursive: true, force: true })
  })

  test.skipIf(!isMounted)(`makes the save fail and keeps no part of it (${reason})`, async () => {
    const messages = [{ role: 'user' as const, text: 'x'.repeat(1_000_000) }]
    const { facts, message } = await refusal(spillTo(disk, { render: renderTranscript })({ ...content, messages }))
    expect(facts.errno).toBe('ENOSPC')
    expect(message).toContain('dsh-ref spill prune')
    expect(below(disk)).toEqual([SESSION])
    // What fits is still saved.
    await save(disk)
    expect(await listSpills(disk)).toHaveLength(1)
  })

  test.skipIf(!isMounted)(`never fails the message (${reason})`, async () => {
    const home = makeHome()
    try {
      home.write(chatLog('src', [{ user: 'y'.repeat(1_000_000) }]))
      const { omissions, issues, additionalContext } = await prepare({
        message: '',
        target: 'target',
        references: [{ sessionId: 'src' }],
        roots: [home.root],
        maxReferenceBytes: 1000,
        spill: spillTo(disk, { render: renderTranscript }),
      })
      expect(omissions[0]?.fullSnapshot).toEqual({ status: 'unavailable', reason: 'save-failed' })
      expect(issues.map(({ kind }) => kind)).toEqual(['spill-failed'])
      expect(additionalContext).toHaveLength(1)
    } finally {
      home.remove()
    }
  })
})

describe('prepare', () => {
  const home = makeHome()
  afterAll(() => home.remove())

  test('saves truncated sources only, and what is saved is the whole projection', async () => {
    const steps = [{ user: 'a'.repeat(900) }, { tool: 'no conversation' }, { assistant: 'b' }]
    home.write(chatLog('long', steps))
    home.write(chatLog('short', [{ user: 'short' }]))
    const { omissions, sources } = await prepare({
      message: '',
      references: [{ sessionId: 'short' }, { sessionId: 'long', label: 'Long' }],
      roots: [home.root],
      maxReferenceBytes: 500,
      spill: spillTo(root, { render: renderTranscript }),
    })
    expect(sources.map(({ facts }) => facts.truncated)).toEqual([false, true])
    const [{ fullSnapshot } = { fullSnapshot: undefined }] = omissions
    if (fullSnapshot?.status !== 'saved') throw new Error('Nothing was saved')
    expect(fullSnapshot.locator).toMatch(/-session-reference-2\.txt$/)
    const { capture, messages } = decodeTranscript(readFileSync(fullSnapshot.locator, 'utf8'))
    expect(capture).toEqual({ sessionId: 'long', label: 'Long', cwd: '/work/app', capturedThroughSeq: 2 })
    expect(messages.map(({ text }) => text)).toEqual(['a'.repeat(900), 'b'])
    expect(await listSpills(root)).toHaveLength(1)
  })

  test('that is cancelled after a save gives no message', async () => {
    home.write(chatLog('source', [{ user: 'a'.repeat(900) }]))
    const controller = new AbortController()
    const spill = spillTo(root, { render: renderTranscript })
    const preparing = prepare({
      message: '',
      references: [{ sessionId: 'source' }],
      roots: [home.root],
      maxReferenceBytes: 500,
      signal: controller.signal,
      spill: async (request) => {
        const saved = await spill(request)
        controller.abort()
        return saved
      },
    })
    await expect(preparing).rejects.toMatchObject({ code: 'SESSION_REFERENCE_CANCELLED' })
    expect(await listSpills(root)).toHaveLength(1)
  })
})

describe('the list and prune', () => {
  const HOUR = 3_600_000
  const now = 1_800_000_000_000
  const at = (path: string, age: number) => utimesSync(path, (now - age) / 1000, (now - age) / 1000)

  test('list says what each transcript is of, oldest first', async () => {
    const { locator: young } = await save(root)
    const { locator: old } = await save(root)
    at(young, HOUR)
    at(old, 2 * HOUR)
    expect(await listSpills(root)).toEqual([
      { path: old, bytes: artifact.length + 50 * 2, savedAt: now - 2 * HOUR, capture: content.capture },
      { path: young, bytes: artifact.length + 50 * 2, savedAt: now - HOUR, capture: content.capture },
    ])
  })

  test('prune removes what is older and the directory it empties', async () => {
    const { locator } = await save(root)
    at(locator, HOUR)
    expect(await pruneSpills(root, HOUR, { now })).toEqual({ removed: [], issues: [] })
    const dryRun = await pruneSpills(root, HOUR - 1, { now, isDryRun: true })
    expect(existsSync(locator)).toBe(true)
    expect(await pruneSpills(root, HOUR - 1, { now })).toEqual(dryRun)
    expect(dryRun.removed.map(({ path }) => path)).toEqual([locator])
    expect(below(root)).toEqual([])
  })

  test('prune removes what a killed process left, which is in no list', async () => {
    const { locator } = await save(root)
    writeFileSync(`${locator}.tmp`, artifact.slice(0, 40))
    expect((await listSpills(root)).map(({ path }) => path)).toEqual([locator])
    expect((await pruneSpills(root, -1)).removed).toHaveLength(2)
  })

  test('prune touches nothing that has another name, and no link', async () => {
    const { locator } = await save(root)
    const session = dirname(locator)
    const outside = join(temporary, 'outside')
    mkdirSync(outside)
    const kept = [
      join(root, 'notes.txt'),
      join(session, 'notes.txt'),
      join(session, `${'0'.repeat(24)}-session-reference-0.txt`),
      join(session, `${'0'.repeat(23)}-session-reference-1.txt`),
      join(outside, `${'0'.repeat(24)}-session-reference-1.txt`),
    ]
    for (const path of kept) writeFileSync(path, 'not ours')
    const linkToFile = join(session, `${'1'.repeat(24)}-session-reference-1.txt`)
    symlinkSync(kept[0] as string, linkToFile)
    symlinkSync(outside, join(root, `session-${'0'.repeat(16)}`))
    mkdirSync(join(session, `${'2'.repeat(24)}-session-reference-1.txt`))
    expect((await pruneSpills(root, -1)).removed.map(({ path }) => path)).toEqual([locator])
    expect(kept.every((path) => existsSync(path))).toBe(true)
    expect(lstatSync(linkToFile).isSymbolicLink()).toBe(true)
  })

  test('say that there is no such directory', async () => {
    for (const reading of [listSpills(root), pruneSpills(root, 0)]) {
      expect(await refusal(reading)).toMatchObject({ reason: 'not-found', facts: { errno: 'ENOENT' } })
    }
  })

  test('list a file that is no transcript any more', async () => {
    const { locator } = await save(root)
    writeFileSync(locator, 'overwritten')
    expect(await listSpills(root)).toEqual([expect.not.objectContaining({ capture: expect.anything() })])
  })
})
