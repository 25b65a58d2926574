import { constants, getPriority, setPriority } from 'node:os'
import type { ImportContext } from '@sluice/imports'

const { PRIORITY_BELOW_NORMAL: belowNormal } = constants.priority

/**
 * Lets others on this machine go first where the processor is scarce: somebody waits for the API's answers. On Linux that is
 * for this process's main thread and what it begins from now on. A system that refuses is told of in the log, no more.
 */
export function letOthersGoFirst(log: ImportContext['log']): void {
  try {
    if (getPriority() < belowNormal) setPriority(belowNormal)
  } catch (error) {
    log.warn({ err: error }, 'priority not lowered')
  }
}
