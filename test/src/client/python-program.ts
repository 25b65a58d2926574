import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { nodeEnvironment } from '../environment/program.ts'

/** Debian's Python, or the first on the path. */
export const python = existsSync('/usr/bin/python3') ? '/usr/bin/python3' : 'python3'

/** The environment of programs that import the Python client. Nothing is written next to their sources. */
export const pythonEnvironment = {
  PATH: nodeEnvironment.PATH,
  PYTHONPATH: join(import.meta.dirname, '../../../packages/python-client'),
  PYTHONDONTWRITEBYTECODE: '1',
}
