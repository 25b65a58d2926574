export { type CellDatabase, type Move, MoveRefused } from './move.ts'
export { AppSuspended } from './moved-apps.ts'
export { type CellRouter, type Cells, openCellRouter } from './router.ts'
export { abortMove, confirmMove, type MoveStep, moveApp } from './run.ts'
