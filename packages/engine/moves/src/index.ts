export { type CellDatabase, type Move, MoveRefused } from './move.ts'
export { AppHeld, followMoves } from './moved-apps.ts'
export { type Cells, cellRouter } from './router.ts'
export { abortMove, confirmMove, type MoveStep, moveApp } from './run.ts'
