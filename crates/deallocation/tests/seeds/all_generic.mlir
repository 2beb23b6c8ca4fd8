func.func @f(%c: i1, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  "cf.cond_br"(%c, %x)[^bb1, ^bb2] {operand_segment_sizes = array<i32: 1, 0, 1>} : (i1, memref<8xf32>) -> ()
^bb1:
  %a = "memref.alloc"() {operand_segment_sizes = array<i32: 0, 0>} : () -> memref<8xf32>
  "cf.br"(%a)[^bb2] : (memref<8xf32>) -> ()
^bb2(%r: memref<8xf32>):
  "test.use"(%r) : (memref<8xf32>) -> ()
  "test.end"() : () -> ()
  "func.return"() : () -> ()
}
