// Packages that tests need and the project does not: installed by npm into a folder of their own in node_modules/.cache, once.

import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/dsh-ref/', import.meta.url))
const INSTALL_MILLISECONDS = 150_000

const run = promisify(execFile)

/** A package to install. */
export interface NpmPackage {
  readonly name: string
  readonly version: string
  /** Whether its scripts have to run when it is installed. */
  readonly hasScripts: boolean
  /** Whether a folder holds it, ready to use. */
  readonly isReady: (folder: string) => Promise<boolean>
}

/** The folder that holds a package in its `node_modules`, or why there is none. */
export async function installedFolder(
  wanted: NpmPackage,
): Promise<
  { readonly folder: string; readonly reason?: never } | { readonly folder?: never; readonly reason: string }
> {
  const { name, version, isReady } = wanted
  const folder = join(CACHE, `${name.replace(/[^a-z0-9-]+/g, '-')}-${version}`)
  try {
    if (!(await isReady(folder))) await install(wanted, folder)
    if (await isReady(folder)) return { folder }
    return { reason: `${folder} does not hold ${name} ${version}` }
  } catch (error) {
    return { reason: `${name} ${version} cannot be installed: ${firstFault(error)}` }
  }
}

/** The line in which npm says what is wrong, else the message. */
function firstFault(error: unknown): string {
  const { stderr = '', message } = error as Error & { stderr?: string }
  return stderr.split('\n').find((line) => /^npm (?:error|ERR!) /.test(line)) ?? message
}

// Installed aside and renamed, so that a second process sees either nothing or all of it.
async function install(wanted: NpmPackage, folder: string): Promise<void> {
  const { name, version, hasScripts, isReady } = wanted
  await mkdir(CACHE, { recursive: true })
  const aside = await mkdtemp(join(CACHE, '.installing-'))
  try {
    const flags = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', `--ignore-scripts=${!hasScripts}`]
    await run('npm', ['install', '--prefix', aside, ...flags, `${name}@${version}`], {
      cwd: aside,
      env: environment(),
      timeout: INSTALL_MILLISECONDS,
      shell: process.platform === 'win32',
    })
    if (!(await isReady(aside))) throw new Error('npm installed nothing that can be used')
    await replace(aside, folder, isReady)
  } finally {
    await rm(aside, { recursive: true, force: true })
  }
}

async function replace(aside: string, folder: string, isReady: NpmPackage['isReady']): Promise<void> {
  try {
    await rename(aside, folder)
  } catch (error) {
    if (await isReady(folder)) return // another process was first
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
