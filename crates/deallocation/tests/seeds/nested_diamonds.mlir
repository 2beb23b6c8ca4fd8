func.func @f(%c: i1, %n: index, %x: memref<8xf32>, %y: memref<8xf32>) {
  cf.cond_br %c, ^bb1, ^bb2
^bb1:
  %a = memref.alloc() : memref<8xf32>
  cf.cond_br %c, ^bb3(%a : memref<8xf32>), ^bb4(%a : memref<8xf32>)
^bb2:
  cf.br ^bb5(%x : memref<8xf32>)
^bb3(%p: memref<8xf32>):
  "test.use"(%p) : (memref<8xf32>) -> ()
  cf.br ^bb5(%p : memref<8xf32>)
^bb4(%q: memref<8xf32>):
  cf.br ^bb5(%q : memref<8xf32>)
^bb5(%r: memref<8xf32>):
  "test.use"(%r) : (memref<8xf32>) -> ()
  "test.end"() : () -> ()
  return
}
