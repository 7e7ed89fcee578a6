// Other versions of Node, for running the program and the library on: from the npm package `node`, kept in
// node_modules/.cache. Never put where the project itself would start them.

import { execFile } from 'node:child_process'
import { access, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/dsh-ref/', import.meta.url))
const BINARY = join('node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
const INSTALL_MILLISECONDS = 150_000

/** The program file of a Node, or why there is none. */
export type FoundNode =
  | { readonly path: string; readonly reason?: never }
  | { readonly path?: never; readonly reason: string }

const run = promisify(execFile)

const found = new Map<string, Promise<FoundNode>>()

/** Finds a Node of exactly this version: this one, or one that was or is now installed. */
export function nodeOf(version: string): Promise<FoundNode> {
  const known = found.get(version) ?? find(version)
  found.set(version, known)
  return known
}

async function find(version: string): Promise<FoundNode> {
  if (process.versions.node === version) return { path: process.execPath }
  const folder = join(CACHE, `node-${version}`)
  const path = join(folder, BINARY)
  try {
    if (!(await isVersion(path, version))) await install(version, folder)
    if (await isVersion(path, version)) return { path }
    return { reason: `${path} is not Node ${version}` }
  } catch (error) {
    return { reason: `Node ${version} cannot be installed: ${firstFault(error)}` }
  }
}

/** The line in which npm says what is wrong, else the message. */
function firstFault(error: unknown): string {
  const { stderr = '', message } = error as Error & { stderr?: string }
  return stderr.split('\n').find((line) => /^npm (?:error|ERR!) /.test(line)) ?? message
}

async function isVersion(path: string, version: string): Promise<boolean> {
  try {
    await access(path)
    return (await run(path, ['--version'])).stdout.trim() === `v${version}`
  } catch {
    return false // not there, or not for this machine
  }
}

// Installed aside and renamed, so that a second process sees either nothing or all of it.
async function install(version: string, folder: string): Promise<void> {
  await mkdir(CACHE, { recursive: true })
  const aside = await mkdtemp(join(CACHE, `.node-${version}-`))
  try {
    const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts=false']
    await run('npm', ['install', '--prefix', aside, ...flags, `node@${version}`], {
      cwd: aside,
      env: environment(),
      timeout: INSTALL_MILLISECONDS,
      shell: process.platform === 'win32',
    })
    if (!(await isVersion(join(aside, BINARY), version))) throw new Error('npm installed no runnable binary')
    await replace(aside, folder, version)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

async function replace(aside: string, folder: string, version: string): Promise<void> {
  try {
    await rename(aside, folder)
  } catch (error) {
    if (await isVersion(join(folder, BINARY), version)) return // another process was first
    await rm(folder, { recursive: true, force: true })
    await mkdir(dirname(folder), { recursive: true })
    await rename(aside, folder).catch(() => {
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
