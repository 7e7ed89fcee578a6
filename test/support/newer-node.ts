// A Node that has zstd in node:zlib, for running the native decoder in tests: this one, or one from the npm registry kept
// in node_modules/.cache. Never put where the project itself would start it.

import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const VERSION = '24.21.0'
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/dsh-ref/', import.meta.url))
const INSTALLED = join(CACHE, 'node-24')
const BINARY = join('node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
const INSTALL_MILLISECONDS = 150_000

const run = promisify(execFile)

let found: Promise<{ path?: string; reason?: string }> | undefined

/** Path of a Node with zstd (22.15 or later), or `undefined` when there is none; then `whyNoNewerNode` says why. */
export async function newerNode(): Promise<string | undefined> {
  found ??= find()
  return (await found).path
}

/** Why `newerNode` found nothing. */
export async function whyNoNewerNode(): Promise<string | undefined> {
  found ??= find()
  return (await found).reason
}

async function find(): Promise<{ path?: string; reason?: string }> {
  if (process.versions.zstd) return { path: process.execPath }
  const path = join(INSTALLED, BINARY)
  try {
    if (!(await isRightVersion(path))) await install()
    if (await isRightVersion(path)) return { path }
    return { reason: `${path} is not Node ${VERSION}` }
  } catch (error) {
    return { reason: `Node ${VERSION} could not be installed: ${error instanceof Error ? error.message : error}` }
  }
}

async function isRightVersion(path: string): Promise<boolean> {
  try {
    await access(path)
    return (await run(path, ['--version'])).stdout.trim() === `v${VERSION}`
  } catch {
    return false // not there, or not for this machine
  }
}

// Installed aside and renamed, so that a second process sees either nothing or all of it.
async function install(): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const aside = await mkdtemp(join(CACHE, '.node-24-'))
  try {
    const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts=false']
    await run('npm', ['install', '--prefix', aside, ...flags, `node@${VERSION}`], {
      cwd: aside,
      env: environment(),
      timeout: INSTALL_MILLISECONDS,
      shell: process.platform === 'win32',
    })
    if (!(await isRightVersion(join(aside, BINARY)))) throw new Error('npm installed no runnable binary')
    await replace(aside)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

async function replace(aside: string): Promise<void> {
  try {
    await rename(aside, INSTALLED)
  } catch (error) {
    if (await isRightVersion(join(INSTALLED, BINARY))) return // another process was first
    await rm(INSTALLED, { recursive: true, force: true })
    await mkdir(dirname(INSTALLED), { recursive: true })
    await rename(aside, INSTALLED).catch(() => {
      throw error
    })
  }
}

// Under `npm test` the variables of the outer npm would send the inner one to the project's own node_modules.
function environment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(
      ([name]) => !/^npm_(?:config_(?:local_)?prefix|package_|lifecycle_)/i.test(name),
    ),
  )
}
