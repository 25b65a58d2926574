import { existsSync, writeFileSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'
import type { ImportContext } from '@sluice/imports'

const { PRIORITY_BELOW_NORMAL: belowNormal } = constants.priority

const sessionPriority = '/proc/self/autogroup'

/**
 * Lowers the priority of this process, so that other processes run first if the processor is scarce: clients wait for
 * the API's answers. On Linux this applies to the main thread and to threads that start later. If the system refuses,
 * the process logs this and continues.
 */
export function lowerPriority(log: ImportContext['log']): void {
  try {
    if (getPriority() < belowNormal) setPriority(belowNormal)
  } catch (error) {
    log.warn({ err: error }, 'priority not lowered')
  }
  try {
    // Where Linux divides the processor among sessions, a process's own priority only counts within its session.
    if (existsSync(sessionPriority)) writeFileSync(sessionPriority, String(belowNormal))
  } catch (error) {
    log.debug({ err: error }, 'priority of the session not lowered')
  }
}
