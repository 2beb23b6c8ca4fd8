module {
  func.func @f(%arg0: i1, %arg1: index, %arg2: memref<8xf32>, %arg3: memref<8xf32>) {
    %false = arith.constant false
    %true = arith.constant true
    %false_0 = arith.constant false
    %false_1 = arith.constant false
    %alloc = memref.alloc() : memref<8xf32>
    %0:2 = scf.for %arg4 = %arg1 to %arg1 step %arg1 iter_args(%arg5 = %alloc, %arg6 = %false) -> (memref<8xf32>, i1) {
      %false_14 = arith.constant false
      %2:2 = scf.for %arg7 = %arg1 to %arg1 step %arg1 iter_args(%arg8 = %arg5, %arg9 = %false_14) -> (memref<8xf32>, i1) {
        %true_23 = arith.constant true
        %alloc_24 = memref.alloc() : memref<8xf32>
        %4 = memref.load %arg8[%arg1] : memref<8xf32>
        %5 = memref.load %alloc_24[%arg1] : memref<8xf32>
        %base_buffer_25, %offset_26, %sizes_27, %strides_28 = memref.extract_strided_metadata %arg8 : memref<8xf32> -> memref<f32>, index, index, index
        %base_buffer_29, %offset_30, %sizes_31, %strides_32 = memref.extract_strided_metadata %alloc_24 : memref<8xf32> -> memref<f32>, index, index, index
        %6 = bufferization.dealloc (%base_buffer_25, %base_buffer_29 : memref<f32>, memref<f32>) if (%arg9, %true_23) retain (%alloc_24 : memref<8xf32>)
        scf.yield %alloc_24, %6 : memref<8xf32>, i1
      }
      %base_buffer_15, %offset_16, %sizes_17, %strides_18 = memref.extract_strided_metadata %arg5 : memref<8xf32> -> memref<f32>, index, index, index
      %base_buffer_19, %offset_20, %sizes_21, %strides_22 = memref.extract_strided_metadata %2#0 : memref<8xf32> -> memref<f32>, index, index, index
      %3 = bufferization.dealloc (%base_buffer_15, %base_buffer_19 : memref<f32>, memref<f32>) if (%arg6, %2#1) retain (%2#0 : memref<8xf32>)
      scf.yield %2#0, %3 : memref<8xf32>, i1
    }
    %1 = memref.load %0#0[%arg1] : memref<8xf32>
    %base_buffer, %offset, %sizes, %strides = memref.extract_strided_metadata %arg2 : memref<8xf32> -> memref<f32>, index, index, index
    %base_buffer_2, %offset_3, %sizes_4, %strides_5 = memref.extract_strided_metadata %arg3 : memref<8xf32> -> memref<f32>, index, index, index
    %base_buffer_6, %offset_7, %sizes_8, %strides_9 = memref.extract_strided_metadata %alloc : memref<8xf32> -> memref<f32>, index, index, index
    %base_buffer_10, %offset_11, %sizes_12, %strides_13 = memref.extract_strided_metadata %0#0 : memref<8xf32> -> memref<f32>, index, index, index
    bufferization.dealloc (%base_buffer, %base_buffer_2, %base_buffer_6, %base_buffer_10 : memref<f32>, memref<f32>, memref<f32>, memref<f32>) if (%false_0, %false_1, %true, %0#1)
    return
  }
}
