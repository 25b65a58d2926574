import { constants, getPriority, setPriority } from 'node:os'
import type { ImportContext } from '@sluice/imports'

const { PRIORITY_BELOW_NORMAL: belowNormal } = constants.priority

/**
 * Lowers the priority of this process, so that other processes run first if the processor is scarce: clients wait for
 * the API's answers. On Linux this applies to the main thread and to threads that start later. If the system refuses,
 * only the log says so.
 */
export function lowerPriority(log: ImportContext['log']): void {
  try {
    if (getPriority() < belowNormal) setPriority(belowNormal)
  } catch (error) {
    log.warn({ err: error }, 'priority not lowered')
  }
}
