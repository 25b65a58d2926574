import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { root } from '../modules.ts'
import { readOrderTimes } from './times.ts'

/** The projects in the order in which they run. Unit tests are the shortest, so both cores are busy to the end. */
const order = ['long', 'system', 'unit']

/**
 * Runs the files of a project together, because Vitest replaces a worker, with all its loaded modules, if the next file
 * belongs to another project. Within a project, the longest files run first, so that none runs alone at the end.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const times = readOrderTimes()
    const seconds = ({ moduleId }: TestSpecification) => times[relative(root, moduleId)] ?? 0
    const place = ({ project }: TestSpecification) => order.indexOf(project.name)
    return files.toSorted((one, other) => place(one) - place(other) || seconds(other) - seconds(one))
  }
}
