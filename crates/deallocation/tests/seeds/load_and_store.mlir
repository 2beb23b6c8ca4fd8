func.func @f(%c: i1, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  %a = memref.alloc(%n) {alignment = 64 : i64} : memref<?xf32>
  %v = memref.load %x[%n] : memref<8xf32>
  memref.store %v, %a[%n] : memref<?xf32>
  %w = memref.load %a[%n] : memref<?xf32>
  %z = arith.constant 0 : index
  %k = memref.dim %a, %z : memref<?xf32>
  memref.store %w, %x[%k] : memref<8xf32>
  return
}
