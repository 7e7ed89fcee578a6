// Other versions of Node, for running the program and the library on: from the npm package `node`. Never put where the project
// itself would start them.

import { execFile } from 'node:child_process'
import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installedFolder } from './npm-package.ts'

const BINARY = join('node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')

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
  const isReady = (folder: string) => isVersion(join(folder, BINARY), version)
  const { folder, reason } = await installedFolder({ name: 'node', version, hasScripts: true, isReady })
  return folder === undefined ? { reason } : { path: join(folder, BINARY) }
}

async function isVersion(path: string, version: string): Promise<boolean> {
  try {
    await access(path)
    return (await run(path, ['--version'])).stdout.trim() === `v${version}`
  } catch {
    return false // not there, or not for this machine
  }
}
