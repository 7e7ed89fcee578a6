// What `check` says to a person: one line a log, one line a finding. Strings only.

import type { CheckedLog, Finding } from '../types.ts'
import { visible } from './visible.ts'

/** The words of one checked log, without a newline at its end. */
export function renderCheckedLog(
  log: CheckedLog,
  paint: (status: CheckedLog['status'], text: string) => string,
): string {
  const { status, path, sessionId, formatVersion, events } = log
  const facts = [
    sessionId === null ? undefined : visible(sessionId),
    formatVersion === null ? undefined : `version ${formatVersion}`,
    `${events} ${events === 1 ? 'event' : 'events'}`,
    visible(path),
  ].filter((fact) => fact !== undefined)
  const head = `${paint(status, status.padEnd(11))} ${facts.join('  ')}`
  return [head, ...log.findings.map((finding) => `    ${renderFinding(finding)}`)].join('\n')
}

function renderFinding({ severity, rule, message, line, frame, seq, expected, actual, count }: Finding): string {
  const place = [
    frame === undefined ? undefined : `frame ${frame}`,
    line === undefined ? undefined : `line ${line}`,
    seq === undefined ? undefined : `seq ${seq}`,
    count === undefined ? undefined : `${count} times`,
  ].filter((part) => part !== undefined)
  const where = place.length === 0 ? '' : ` (${place.join(', ')})`
  const comparison =
    expected === undefined && actual === undefined ? '' : `; expected ${shortJson(expected)}, got ${shortJson(actual)}`
  return visible(`${severity} ${rule}${where}: ${message}${comparison}`)
}

const SHORT = 80

function shortJson(value: unknown): string {
  const json = JSON.stringify(value) ?? 'nothing'
  return json.length <= SHORT ? json : `${json.slice(0, SHORT)}…`
}
