import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { root } from '../modules.ts'
import { readOrderTimes } from './times.ts'

/**
 * Runs the files that take longest first, whatever their project, so that no long file runs alone at the end while a
 * core is idle.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = readOrderTimes()
    const seconds = ({ moduleId }: TestSpecification) => times[relative(root, moduleId)] ?? 0
    return files.toSorted((one, other) => seconds(other) - seconds(one))
  }
}
