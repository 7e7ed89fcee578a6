// A program under another Node that is started once and asked often: a line of JSON in, a line of JSON out. Starting a Node
// takes longer than most of what the tests ask of it.

import { spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import { createInterface } from 'node:readline'

/** Asks the program; answers come in the order of the questions. */
export type Ask = (question: unknown) => Promise<unknown>

const started = new Map<string, Ask>()

/** The program of a file under a Node, started on the first call and ended with this process. */
export function programUnder(node: string, file: string): Ask {
  const key = `${node}\0${file}`
  const ask = started.get(key) ?? start(node, file)
  started.set(key, ask)
  return ask
}

function start(node: string, file: string): Ask {
  // Before 22.18 types are stripped on demand only.
  const flags = ['--experimental-strip-types', '--no-warnings']
  const child = spawn(node, [...flags, file], { stdio: ['pipe', 'pipe', 'inherit'] })
  // It waits for its input to end, and must not keep this process waiting for it.
  for (const handle of [child, child.stdin as Socket, child.stdout as Socket]) handle.unref()
  const waiting: { resolve(answer: unknown): void; reject(error: Error): void }[] = []
  createInterface({ input: child.stdout }).on('line', (line) => waiting.shift()?.resolve(JSON.parse(line)))
  child.on('close', (status) => {
    for (const { reject } of waiting.splice(0)) reject(new Error(`${file} ended with status ${status} under ${node}`))
  })
  return (question) =>
    new Promise((resolve, reject) => {
      waiting.push({ resolve, reject })
      child.stdin.write(`${JSON.stringify(question)}\n`)
    })
}

/** The other end: answers what is asked on standard input until that ends. */
export async function answerAll<Question>(answer: (question: Question) => Promise<unknown>): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line) as Question))}\n`)
  }
}
